//! The native module of the Python package `fencehold`. What users see is described in the `.pyi`
//! files beside the package; this crate converts types, maps errors and waits without the
//! interpreter's lock.

mod aio;
mod calls;
mod client;
mod convert;
mod errors;
mod hooks;
mod lock;
mod rows;
mod step;

use pyo3::exceptions::PyImportError;
use pyo3::ffi;
use pyo3::prelude::*;

/// Classes and handlers belong to one interpreter, the core's threads serve all of the process. Python
/// 3.12 and later refuse by themselves.
fn refuse_subinterpreters() -> PyResult<()> {
    // SAFETY: called attached, so that there is a current interpreter.
    let interpreter = unsafe { ffi::PyInterpreterState_GetID(ffi::PyInterpreterState_Get()) };
    if interpreter == 0 {
        return Ok(());
    }
    Err(PyImportError::new_err("module fencehold._native does not support loading in subinterpreters"))
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    refuse_subinterpreters()?;
    let main: usize = py.import("threading")?.call_method0("main_thread")?.getattr("ident")?.extract()?;
    calls::note_main_thread(main);
    hooks::send_log_to_python();
    lock::add_keep_alive(py)?;
    module.add("VERSION", fencehold::VERSION)?;
    module.add_class::<client::ClientBase>()?;
    module.add_class::<client::Client>()?;
    module.add_class::<lock::LockBase>()?;
    module.add_class::<lock::Lock>()?;
    module.add_class::<step::StepBase>()?;
    module.add_class::<rows::KvBase>()?;
    module.add_class::<calls::Cancel>()?;
    for function in [
        wrap_pyfunction!(hooks::_at_exit, module)?,
        wrap_pyfunction!(hooks::_after_fork_in_child, module)?,
        wrap_pyfunction!(aio::acquire_at_once, module)?,
        wrap_pyfunction!(aio::start_acquire, module)?,
        wrap_pyfunction!(aio::start_step_aside, module)?,
        wrap_pyfunction!(aio::release_at_once, module)?,
        wrap_pyfunction!(aio::start_release, module)?,
        wrap_pyfunction!(aio::give_back, module)?,
        wrap_pyfunction!(aio::leave_at_once, module)?,
        wrap_pyfunction!(aio::start_leave, module)?,
        wrap_pyfunction!(aio::start_wait_lost, module)?,
        wrap_pyfunction!(aio::take_over, module)?,
        wrap_pyfunction!(aio::mark_taken, module)?,
        wrap_pyfunction!(aio::attach, module)?,
        wrap_pyfunction!(aio::start_holders, module)?,
        wrap_pyfunction!(aio::start_show, module)?,
        wrap_pyfunction!(aio::start_list, module)?,
        wrap_pyfunction!(aio::start_force_release, module)?,
        wrap_pyfunction!(aio::start_ping, module)?,
        wrap_pyfunction!(aio::start_close, module)?,
        wrap_pyfunction!(step::start_commit, module)?,
    ] {
        module.add_function(function)?;
    }
    Ok(())
}
