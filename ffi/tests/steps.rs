//! Steps and rows through the C functions.

use std::ffi::CStr;
use std::ptr;

use fencehold_ffi::client::{fh_client_close, fh_client_free, fh_client_open};
use fencehold_ffi::error::{fh_error_free, fh_error_kind, fh_error_reason};
use fencehold_ffi::info::{fh_info_free, fh_info_json};
use fencehold_ffi::lock::{fh_lock_acquire, fh_lock_free, fh_lock_lost_reason, fh_lock_new};
use fencehold_ffi::txn::{fh_client_kv, fh_txn_commit, fh_txn_free, fh_txn_guard, fh_txn_kv, fh_txn_new};

const OK: i32 = 0;
const LOST: i32 = 3;
const REFUSED: i32 = 5;

#[test]
fn a_step_commits_is_refused_and_loses_its_lock() {
    // SAFETY: pointers are made by the functions themselves and freed once.
    unsafe {
        let (mut client, mut lock, mut txn, mut error) =
            (ptr::null_mut(), ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        let url = "memory:";
        assert_eq!(fh_client_open(url.as_ptr().cast(), url.len(), ptr::null(), &mut client, &mut error), OK);
        assert_eq!(fh_lock_new(client, "n".as_ptr().cast(), 1, 30_000, ptr::null(), &mut lock, &mut error), OK);
        assert_eq!(fh_lock_acquire(lock, 0, ptr::null(), &mut error), OK);
        let put = r#"[{"op":"put","ns":"work","key":"k","value":1,"forever":true}]"#;
        let absent = r#"[{"op":"check","ns":"work","key":"k","expect":0,"required":true}]"#;
        assert_eq!(fh_txn_new(client, &mut txn, &mut error), OK);
        assert_eq!(fh_txn_guard(txn, lock, &mut error), OK);
        assert_eq!(fh_txn_kv(txn, put.as_ptr().cast(), put.len(), &mut error), OK);
        let mut json = ptr::null();
        assert_eq!(fh_txn_commit(txn, &mut json, &mut error), OK);
        let result = CStr::from_ptr(json).to_str().unwrap();
        assert!(result.contains(r#""success":true"#), "{result}");
        let mut info = ptr::null_mut();
        assert_eq!(fh_client_kv(client, absent.as_ptr().cast(), absent.len(), &mut info, &mut error), REFUSED);
        assert!(CStr::from_ptr(fh_info_json(info)).to_str().unwrap().contains("kv_precondition"));
        fh_info_free(info);
        let free = r#"[{"op":"delete","ns":"queen-locks","key":"n#0"}]"#;
        assert_eq!(fh_client_kv(client, free.as_ptr().cast(), free.len(), &mut info, &mut error), OK);
        fh_info_free(info);
        assert_eq!(fh_txn_commit(txn, &mut json, &mut error), LOST);
        assert_eq!(fh_error_kind(error), LOST);
        assert_eq!(CStr::from_ptr(fh_error_reason(error)).to_str().unwrap(), "guard");
        assert_eq!(fh_lock_lost_reason(lock), 2);
        fh_error_free(error);
        fh_txn_free(txn);
        fh_lock_free(lock);
        let _ = fh_client_close(client, ptr::null_mut());
        fh_client_free(client);
    }
}
