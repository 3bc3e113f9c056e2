/* This is a generated file, edit the .stub.php file instead.
 * Stub hash: a3f1b1ec6806cebe0bf00c757d6cf51e7c174c74 */

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Fencehold_Client___construct, 0, 0, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, url, IS_STRING, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, authToken, IS_STRING, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, authTokenFile, IS_STRING, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, user, IS_STRING, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, password, IS_STRING, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, passwordFile, IS_STRING, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, caFile, IS_STRING, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, certFile, IS_STRING, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, keyFile, IS_STRING, 1, "null")
	ZEND_ARG_OBJ_TYPE_MASK(0, requestTimeout, DateInterval, MAY_BE_LONG|MAY_BE_DOUBLE|MAY_BE_STRING, "5")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, label, IS_STRING, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, persistent, _IS_BOOL, 0, "true")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Fencehold_Client_lock, 0, 2, Fencehold\\Lock, 0)
	ZEND_ARG_TYPE_INFO(0, name, IS_STRING, 0)
	ZEND_ARG_OBJ_TYPE_MASK(0, ttl, DateInterval, MAY_BE_LONG|MAY_BE_DOUBLE|MAY_BE_STRING, NULL)
	ZEND_ARG_OBJ_TYPE_MASK(0, wait, DateInterval, MAY_BE_LONG|MAY_BE_DOUBLE|MAY_BE_STRING, "0")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, owner, IS_STRING, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, resume, _IS_BOOL, 0, "false")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, label, IS_STRING, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, fair, _IS_BOOL, 0, "false")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, reentrant, _IS_BOOL, 0, "false")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, crash, IS_STRING, 0, "\'takeover\'")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Fencehold_Client_semaphore, 0, 3, Fencehold\\Lock, 0)
	ZEND_ARG_TYPE_INFO(0, name, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, permits, IS_LONG, 0)
	ZEND_ARG_OBJ_TYPE_MASK(0, ttl, DateInterval, MAY_BE_LONG|MAY_BE_DOUBLE|MAY_BE_STRING, NULL)
	ZEND_ARG_OBJ_TYPE_MASK(0, wait, DateInterval, MAY_BE_LONG|MAY_BE_DOUBLE|MAY_BE_STRING, "0")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, owner, IS_STRING, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, resume, _IS_BOOL, 0, "false")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, label, IS_STRING, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, fair, _IS_BOOL, 0, "false")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, reentrant, _IS_BOOL, 0, "false")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, crash, IS_STRING, 0, "\'takeover\'")
ZEND_END_ARG_INFO()

#define arginfo_class_Fencehold_Client_acquire arginfo_class_Fencehold_Client_lock

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Fencehold_Client_holders, 0, 1, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO(0, name, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Fencehold_Client_show, 0, 1, Fencehold\\LockInfo, 0)
	ZEND_ARG_TYPE_INFO(0, name, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Fencehold_Client_store, 0, 0, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Fencehold_Client_list, 0, 0, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, prefix, IS_STRING, 0, "\'\'")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, limit, IS_LONG, 0, "1000")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, after, IS_STRING, 0, "\'\'")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Fencehold_Client_ping, 0, 0, IS_VOID, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Fencehold_Client_close arginfo_class_Fencehold_Client_ping

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Fencehold_Client_forceRelease, 0, 1, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, name, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, token, IS_LONG, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, owner, IS_STRING, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, slot, IS_LONG, 0, "0")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Fencehold_Client_transaction, 0, 0, Fencehold\\Transaction, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Fencehold_Client_kv, 0, 1, Fencehold\\Kv, 0)
	ZEND_ARG_TYPE_INFO(0, namespace, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Fencehold_Client_advance, 0, 1, IS_VOID, 0)
	ZEND_ARG_OBJ_TYPE_MASK(0, by, DateInterval, MAY_BE_LONG|MAY_BE_DOUBLE|MAY_BE_STRING, NULL)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_INFO_EX(arginfo_class_Fencehold_Lock___construct, 0, 0, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Fencehold_Lock_acquire, 0, 0, _IS_BOOL, 0)
	ZEND_ARG_OBJ_TYPE_MASK(0, wait, DateInterval, MAY_BE_LONG|MAY_BE_DOUBLE|MAY_BE_STRING, NULL)
ZEND_END_ARG_INFO()

#define arginfo_class_Fencehold_Lock_stepAside arginfo_class_Fencehold_Lock_acquire

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Fencehold_Lock_run, 0, 1, Fencehold\\RunResult, 0)
	ZEND_ARG_TYPE_INFO(0, fn, IS_CALLABLE, 0)
	ZEND_ARG_OBJ_TYPE_MASK(0, wait, DateInterval, MAY_BE_LONG|MAY_BE_DOUBLE|MAY_BE_STRING, NULL)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Fencehold_Lock_keepAlive, 0, 0, _IS_BOOL, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Fencehold_Lock_release arginfo_class_Fencehold_Lock_keepAlive

#define arginfo_class_Fencehold_Lock_held arginfo_class_Fencehold_Lock_keepAlive

#define arginfo_class_Fencehold_Lock_atRisk arginfo_class_Fencehold_Lock_keepAlive

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Fencehold_Lock_lostReason, 0, 0, IS_STRING, 1)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Fencehold_Lock_refusal, 0, 0, Fencehold\\Refusal, 1)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Fencehold_Lock_token, 0, 0, IS_LONG, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Fencehold_Lock_fence arginfo_class_Fencehold_Lock_token

#define arginfo_class_Fencehold_Lock_slot arginfo_class_Fencehold_Lock_token

#define arginfo_class_Fencehold_Lock_position arginfo_class_Fencehold_Lock_token

#define arginfo_class_Fencehold_Lock_name arginfo_class_Fencehold_Client_store

#define arginfo_class_Fencehold_Lock_owner arginfo_class_Fencehold_Client_store

#define arginfo_class_Fencehold_Lock_ttlMs arginfo_class_Fencehold_Lock_token

#define arginfo_class_Fencehold_Lock_remainingMs arginfo_class_Fencehold_Lock_token

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Fencehold_Lock_lastError, 0, 0, Fencehold\\Exception\\Exception, 1)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Fencehold_Lock_lose, 0, 1, IS_VOID, 0)
	ZEND_ARG_TYPE_INFO(0, reason, IS_STRING, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Fencehold_Holder___construct arginfo_class_Fencehold_Lock___construct

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Fencehold_Holder_jsonSerialize, 0, 0, IS_ARRAY, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Fencehold_Waiter___construct arginfo_class_Fencehold_Lock___construct

#define arginfo_class_Fencehold_Waiter_jsonSerialize arginfo_class_Fencehold_Holder_jsonSerialize

#define arginfo_class_Fencehold_LockInfo___construct arginfo_class_Fencehold_Lock___construct

#define arginfo_class_Fencehold_LockInfo_jsonSerialize arginfo_class_Fencehold_Holder_jsonSerialize

#define arginfo_class_Fencehold_Refusal___construct arginfo_class_Fencehold_Lock___construct

#define arginfo_class_Fencehold_Refusal_jsonSerialize arginfo_class_Fencehold_Holder_jsonSerialize

#define arginfo_class_Fencehold_RunResult___construct arginfo_class_Fencehold_Lock___construct

#define arginfo_class_Fencehold_CommitResult___construct arginfo_class_Fencehold_Lock___construct

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Fencehold_CommitResult_orThrow, 0, 0, Fencehold\\CommitResult, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Fencehold_Transaction___construct arginfo_class_Fencehold_Lock___construct

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Fencehold_Transaction_guard, 0, 1, Fencehold\\Transaction, 0)
	ZEND_ARG_OBJ_INFO(0, lock, Fencehold\\Lock, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Fencehold_Transaction_queue, 0, 1, Fencehold\\Queue, 0)
	ZEND_ARG_TYPE_INFO(0, name, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Fencehold_Transaction_ack, 0, 1, Fencehold\\Transaction, 0)
	ZEND_ARG_TYPE_INFO(0, acks, IS_ARRAY, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Fencehold_Transaction_kv, 0, 1, Fencehold\\Transaction, 0)
	ZEND_ARG_TYPE_INFO(0, operations, IS_ARRAY, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Fencehold_Transaction_timers arginfo_class_Fencehold_Transaction_kv

#define arginfo_class_Fencehold_Transaction_commit arginfo_class_Fencehold_CommitResult_orThrow

#define arginfo_class_Fencehold_Queue___construct arginfo_class_Fencehold_Lock___construct

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Fencehold_Queue_push, 0, 1, Fencehold\\Transaction, 0)
	ZEND_ARG_TYPE_INFO(0, items, IS_ARRAY, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Fencehold_Kv___construct arginfo_class_Fencehold_Lock___construct

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Fencehold_Kv_get, 0, 1, Fencehold\\ValueRow, 1)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_class_Fencehold_Kv_getMany, 0, 1, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO(0, keys, IS_ARRAY, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Fencehold_Kv_getPrefix, 0, 1, Fencehold\\ValuePage, 0)
	ZEND_ARG_TYPE_INFO(0, prefix, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, limit, IS_LONG, 0, "1000")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, after, IS_STRING, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Fencehold_Kv_put, 0, 3, Fencehold\\Written, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, value, IS_MIXED, 0)
	ZEND_ARG_OBJ_TYPE_MASK(0, ttl, DateInterval, MAY_BE_LONG|MAY_BE_DOUBLE|MAY_BE_STRING, NULL)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, expect, IS_LONG, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Fencehold_Kv_putIfAbsent, 0, 3, Fencehold\\Written, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, value, IS_MIXED, 0)
	ZEND_ARG_OBJ_TYPE_MASK(0, ttl, DateInterval, MAY_BE_LONG|MAY_BE_DOUBLE|MAY_BE_STRING, NULL)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Fencehold_Kv_delete, 0, 1, Fencehold\\Written, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, expect, IS_LONG, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Fencehold_Kv_incr, 0, 3, Fencehold\\Written, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, delta, IS_LONG, 0)
	ZEND_ARG_OBJ_TYPE_MASK(0, ttl, DateInterval, MAY_BE_LONG|MAY_BE_DOUBLE|MAY_BE_STRING, NULL)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_class_Fencehold_Kv_check, 0, 2, Fencehold\\Written, 0)
	ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, expect, IS_LONG, 0)
ZEND_END_ARG_INFO()

#define arginfo_class_Fencehold_ValueRow___construct arginfo_class_Fencehold_Lock___construct

#define arginfo_class_Fencehold_ValuePage___construct arginfo_class_Fencehold_Lock___construct

#define arginfo_class_Fencehold_Written___construct arginfo_class_Fencehold_Lock___construct


ZEND_METHOD(Fencehold_Client, __construct);
ZEND_METHOD(Fencehold_Client, lock);
ZEND_METHOD(Fencehold_Client, semaphore);
ZEND_METHOD(Fencehold_Client, acquire);
ZEND_METHOD(Fencehold_Client, holders);
ZEND_METHOD(Fencehold_Client, show);
ZEND_METHOD(Fencehold_Client, store);
ZEND_METHOD(Fencehold_Client, list);
ZEND_METHOD(Fencehold_Client, ping);
ZEND_METHOD(Fencehold_Client, close);
ZEND_METHOD(Fencehold_Client, forceRelease);
ZEND_METHOD(Fencehold_Client, transaction);
ZEND_METHOD(Fencehold_Client, kv);
ZEND_METHOD(Fencehold_Client, advance);
ZEND_METHOD(Fencehold_Lock, __construct);
ZEND_METHOD(Fencehold_Lock, acquire);
ZEND_METHOD(Fencehold_Lock, stepAside);
ZEND_METHOD(Fencehold_Lock, run);
ZEND_METHOD(Fencehold_Lock, keepAlive);
ZEND_METHOD(Fencehold_Lock, release);
ZEND_METHOD(Fencehold_Lock, held);
ZEND_METHOD(Fencehold_Lock, atRisk);
ZEND_METHOD(Fencehold_Lock, lostReason);
ZEND_METHOD(Fencehold_Lock, refusal);
ZEND_METHOD(Fencehold_Lock, token);
ZEND_METHOD(Fencehold_Lock, fence);
ZEND_METHOD(Fencehold_Lock, slot);
ZEND_METHOD(Fencehold_Lock, position);
ZEND_METHOD(Fencehold_Lock, name);
ZEND_METHOD(Fencehold_Lock, owner);
ZEND_METHOD(Fencehold_Lock, ttlMs);
ZEND_METHOD(Fencehold_Lock, remainingMs);
ZEND_METHOD(Fencehold_Lock, lastError);
ZEND_METHOD(Fencehold_Lock, lose);
ZEND_METHOD(Fencehold_Holder, __construct);
ZEND_METHOD(Fencehold_Holder, jsonSerialize);
ZEND_METHOD(Fencehold_Waiter, __construct);
ZEND_METHOD(Fencehold_Waiter, jsonSerialize);
ZEND_METHOD(Fencehold_LockInfo, __construct);
ZEND_METHOD(Fencehold_LockInfo, jsonSerialize);
ZEND_METHOD(Fencehold_Refusal, __construct);
ZEND_METHOD(Fencehold_Refusal, jsonSerialize);
ZEND_METHOD(Fencehold_RunResult, __construct);
ZEND_METHOD(Fencehold_CommitResult, __construct);
ZEND_METHOD(Fencehold_CommitResult, orThrow);
ZEND_METHOD(Fencehold_Transaction, __construct);
ZEND_METHOD(Fencehold_Transaction, guard);
ZEND_METHOD(Fencehold_Transaction, queue);
ZEND_METHOD(Fencehold_Transaction, ack);
ZEND_METHOD(Fencehold_Transaction, kv);
ZEND_METHOD(Fencehold_Transaction, timers);
ZEND_METHOD(Fencehold_Transaction, commit);
ZEND_METHOD(Fencehold_Queue, __construct);
ZEND_METHOD(Fencehold_Queue, push);
ZEND_METHOD(Fencehold_Kv, __construct);
ZEND_METHOD(Fencehold_Kv, get);
ZEND_METHOD(Fencehold_Kv, getMany);
ZEND_METHOD(Fencehold_Kv, getPrefix);
ZEND_METHOD(Fencehold_Kv, put);
ZEND_METHOD(Fencehold_Kv, putIfAbsent);
ZEND_METHOD(Fencehold_Kv, delete);
ZEND_METHOD(Fencehold_Kv, incr);
ZEND_METHOD(Fencehold_Kv, check);
ZEND_METHOD(Fencehold_ValueRow, __construct);
ZEND_METHOD(Fencehold_ValuePage, __construct);
ZEND_METHOD(Fencehold_Written, __construct);


static const zend_function_entry class_Fencehold_Client_methods[] = {
	ZEND_ME(Fencehold_Client, __construct, arginfo_class_Fencehold_Client___construct, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Client, lock, arginfo_class_Fencehold_Client_lock, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Client, semaphore, arginfo_class_Fencehold_Client_semaphore, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Client, acquire, arginfo_class_Fencehold_Client_acquire, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Client, holders, arginfo_class_Fencehold_Client_holders, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Client, show, arginfo_class_Fencehold_Client_show, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Client, store, arginfo_class_Fencehold_Client_store, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Client, list, arginfo_class_Fencehold_Client_list, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Client, ping, arginfo_class_Fencehold_Client_ping, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Client, close, arginfo_class_Fencehold_Client_close, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Client, forceRelease, arginfo_class_Fencehold_Client_forceRelease, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Client, transaction, arginfo_class_Fencehold_Client_transaction, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Client, kv, arginfo_class_Fencehold_Client_kv, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Client, advance, arginfo_class_Fencehold_Client_advance, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Fencehold_Lock_methods[] = {
	ZEND_ME(Fencehold_Lock, __construct, arginfo_class_Fencehold_Lock___construct, ZEND_ACC_PRIVATE)
	ZEND_ME(Fencehold_Lock, acquire, arginfo_class_Fencehold_Lock_acquire, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Lock, stepAside, arginfo_class_Fencehold_Lock_stepAside, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Lock, run, arginfo_class_Fencehold_Lock_run, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Lock, keepAlive, arginfo_class_Fencehold_Lock_keepAlive, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Lock, release, arginfo_class_Fencehold_Lock_release, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Lock, held, arginfo_class_Fencehold_Lock_held, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Lock, atRisk, arginfo_class_Fencehold_Lock_atRisk, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Lock, lostReason, arginfo_class_Fencehold_Lock_lostReason, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Lock, refusal, arginfo_class_Fencehold_Lock_refusal, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Lock, token, arginfo_class_Fencehold_Lock_token, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Lock, fence, arginfo_class_Fencehold_Lock_fence, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Lock, slot, arginfo_class_Fencehold_Lock_slot, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Lock, position, arginfo_class_Fencehold_Lock_position, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Lock, name, arginfo_class_Fencehold_Lock_name, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Lock, owner, arginfo_class_Fencehold_Lock_owner, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Lock, ttlMs, arginfo_class_Fencehold_Lock_ttlMs, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Lock, remainingMs, arginfo_class_Fencehold_Lock_remainingMs, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Lock, lastError, arginfo_class_Fencehold_Lock_lastError, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Lock, lose, arginfo_class_Fencehold_Lock_lose, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Fencehold_Holder_methods[] = {
	ZEND_ME(Fencehold_Holder, __construct, arginfo_class_Fencehold_Holder___construct, ZEND_ACC_PRIVATE)
	ZEND_ME(Fencehold_Holder, jsonSerialize, arginfo_class_Fencehold_Holder_jsonSerialize, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Fencehold_Waiter_methods[] = {
	ZEND_ME(Fencehold_Waiter, __construct, arginfo_class_Fencehold_Waiter___construct, ZEND_ACC_PRIVATE)
	ZEND_ME(Fencehold_Waiter, jsonSerialize, arginfo_class_Fencehold_Waiter_jsonSerialize, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Fencehold_LockInfo_methods[] = {
	ZEND_ME(Fencehold_LockInfo, __construct, arginfo_class_Fencehold_LockInfo___construct, ZEND_ACC_PRIVATE)
	ZEND_ME(Fencehold_LockInfo, jsonSerialize, arginfo_class_Fencehold_LockInfo_jsonSerialize, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Fencehold_Refusal_methods[] = {
	ZEND_ME(Fencehold_Refusal, __construct, arginfo_class_Fencehold_Refusal___construct, ZEND_ACC_PRIVATE)
	ZEND_ME(Fencehold_Refusal, jsonSerialize, arginfo_class_Fencehold_Refusal_jsonSerialize, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Fencehold_RunResult_methods[] = {
	ZEND_ME(Fencehold_RunResult, __construct, arginfo_class_Fencehold_RunResult___construct, ZEND_ACC_PRIVATE)
	ZEND_FE_END
};


static const zend_function_entry class_Fencehold_CommitResult_methods[] = {
	ZEND_ME(Fencehold_CommitResult, __construct, arginfo_class_Fencehold_CommitResult___construct, ZEND_ACC_PRIVATE)
	ZEND_ME(Fencehold_CommitResult, orThrow, arginfo_class_Fencehold_CommitResult_orThrow, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Fencehold_Transaction_methods[] = {
	ZEND_ME(Fencehold_Transaction, __construct, arginfo_class_Fencehold_Transaction___construct, ZEND_ACC_PRIVATE)
	ZEND_ME(Fencehold_Transaction, guard, arginfo_class_Fencehold_Transaction_guard, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Transaction, queue, arginfo_class_Fencehold_Transaction_queue, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Transaction, ack, arginfo_class_Fencehold_Transaction_ack, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Transaction, kv, arginfo_class_Fencehold_Transaction_kv, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Transaction, timers, arginfo_class_Fencehold_Transaction_timers, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Transaction, commit, arginfo_class_Fencehold_Transaction_commit, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Fencehold_Queue_methods[] = {
	ZEND_ME(Fencehold_Queue, __construct, arginfo_class_Fencehold_Queue___construct, ZEND_ACC_PRIVATE)
	ZEND_ME(Fencehold_Queue, push, arginfo_class_Fencehold_Queue_push, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Fencehold_Kv_methods[] = {
	ZEND_ME(Fencehold_Kv, __construct, arginfo_class_Fencehold_Kv___construct, ZEND_ACC_PRIVATE)
	ZEND_ME(Fencehold_Kv, get, arginfo_class_Fencehold_Kv_get, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Kv, getMany, arginfo_class_Fencehold_Kv_getMany, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Kv, getPrefix, arginfo_class_Fencehold_Kv_getPrefix, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Kv, put, arginfo_class_Fencehold_Kv_put, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Kv, putIfAbsent, arginfo_class_Fencehold_Kv_putIfAbsent, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Kv, delete, arginfo_class_Fencehold_Kv_delete, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Kv, incr, arginfo_class_Fencehold_Kv_incr, ZEND_ACC_PUBLIC)
	ZEND_ME(Fencehold_Kv, check, arginfo_class_Fencehold_Kv_check, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};


static const zend_function_entry class_Fencehold_ValueRow_methods[] = {
	ZEND_ME(Fencehold_ValueRow, __construct, arginfo_class_Fencehold_ValueRow___construct, ZEND_ACC_PRIVATE)
	ZEND_FE_END
};


static const zend_function_entry class_Fencehold_ValuePage_methods[] = {
	ZEND_ME(Fencehold_ValuePage, __construct, arginfo_class_Fencehold_ValuePage___construct, ZEND_ACC_PRIVATE)
	ZEND_FE_END
};


static const zend_function_entry class_Fencehold_Written_methods[] = {
	ZEND_ME(Fencehold_Written, __construct, arginfo_class_Fencehold_Written___construct, ZEND_ACC_PRIVATE)
	ZEND_FE_END
};


static const zend_function_entry class_Fencehold_Exception_Exception_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Fencehold_Exception_HeldException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Fencehold_Exception_TimedOutException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Fencehold_Exception_LostException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Fencehold_Exception_NotHeldException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Fencehold_Exception_CancelledException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Fencehold_Exception_UnreachableException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Fencehold_Exception_InDoubtException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Fencehold_Exception_InvalidException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Fencehold_Exception_UnauthorizedException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Fencehold_Exception_ForbiddenException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Fencehold_Exception_RateLimitedException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Fencehold_Exception_UnsupportedException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Fencehold_Exception_StoreException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Fencehold_Exception_ForkedException_methods[] = {
	ZEND_FE_END
};


static const zend_function_entry class_Fencehold_Exception_InternalException_methods[] = {
	ZEND_FE_END
};

static zend_class_entry *register_class_Fencehold_Client(void)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Fencehold", "Client", class_Fencehold_Client_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;


	zend_add_parameter_attribute(zend_hash_str_find_ptr(&class_entry->function_table, "__construct", sizeof("__construct") - 1), 1, ZSTR_KNOWN(ZEND_STR_SENSITIVEPARAMETER), 0);

	zend_add_parameter_attribute(zend_hash_str_find_ptr(&class_entry->function_table, "__construct", sizeof("__construct") - 1), 4, ZSTR_KNOWN(ZEND_STR_SENSITIVEPARAMETER), 0);

	return class_entry;
}

static zend_class_entry *register_class_Fencehold_Lock(void)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Fencehold", "Lock", class_Fencehold_Lock_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;

	return class_entry;
}

static zend_class_entry *register_class_Fencehold_Holder(zend_class_entry *class_entry_JsonSerializable)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Fencehold", "Holder", class_Fencehold_Holder_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;
	zend_class_implements(class_entry, 1, class_entry_JsonSerializable);

	zval property_slot_default_value;
	ZVAL_UNDEF(&property_slot_default_value);
	zend_string *property_slot_name = zend_string_init("slot", sizeof("slot") - 1, 1);
	zend_declare_typed_property(class_entry, property_slot_name, &property_slot_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_slot_name);

	zval property_token_default_value;
	ZVAL_UNDEF(&property_token_default_value);
	zend_string *property_token_name = zend_string_init("token", sizeof("token") - 1, 1);
	zend_declare_typed_property(class_entry, property_token_name, &property_token_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_token_name);

	zval property_owner_default_value;
	ZVAL_UNDEF(&property_owner_default_value);
	zend_string *property_owner_name = zend_string_init("owner", sizeof("owner") - 1, 1);
	zend_declare_typed_property(class_entry, property_owner_name, &property_owner_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_owner_name);

	zval property_label_default_value;
	ZVAL_UNDEF(&property_label_default_value);
	zend_string *property_label_name = zend_string_init("label", sizeof("label") - 1, 1);
	zend_declare_typed_property(class_entry, property_label_name, &property_label_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_label_name);

	zend_string *property_since_class_DateTimeImmutable = zend_string_init("DateTimeImmutable", sizeof("DateTimeImmutable")-1, 1);
	zval property_since_default_value;
	ZVAL_UNDEF(&property_since_default_value);
	zend_string *property_since_name = zend_string_init("since", sizeof("since") - 1, 1);
	zend_declare_typed_property(class_entry, property_since_name, &property_since_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_CLASS(property_since_class_DateTimeImmutable, 0, MAY_BE_NULL));
	zend_string_release(property_since_name);

	zend_string *property_renewedAt_class_DateTimeImmutable = zend_string_init("DateTimeImmutable", sizeof("DateTimeImmutable")-1, 1);
	zval property_renewedAt_default_value;
	ZVAL_UNDEF(&property_renewedAt_default_value);
	zend_string *property_renewedAt_name = zend_string_init("renewedAt", sizeof("renewedAt") - 1, 1);
	zend_declare_typed_property(class_entry, property_renewedAt_name, &property_renewedAt_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_CLASS(property_renewedAt_class_DateTimeImmutable, 0, MAY_BE_NULL));
	zend_string_release(property_renewedAt_name);

	zend_string *property_expiresAt_class_DateTimeImmutable = zend_string_init("DateTimeImmutable", sizeof("DateTimeImmutable")-1, 1);
	zval property_expiresAt_default_value;
	ZVAL_UNDEF(&property_expiresAt_default_value);
	zend_string *property_expiresAt_name = zend_string_init("expiresAt", sizeof("expiresAt") - 1, 1);
	zend_declare_typed_property(class_entry, property_expiresAt_name, &property_expiresAt_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_CLASS(property_expiresAt_class_DateTimeImmutable, 0, MAY_BE_NULL));
	zend_string_release(property_expiresAt_name);

	return class_entry;
}

static zend_class_entry *register_class_Fencehold_Waiter(zend_class_entry *class_entry_JsonSerializable)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Fencehold", "Waiter", class_Fencehold_Waiter_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;
	zend_class_implements(class_entry, 1, class_entry_JsonSerializable);

	zval property_position_default_value;
	ZVAL_UNDEF(&property_position_default_value);
	zend_string *property_position_name = zend_string_init("position", sizeof("position") - 1, 1);
	zend_declare_typed_property(class_entry, property_position_name, &property_position_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_position_name);

	zval property_owner_default_value;
	ZVAL_UNDEF(&property_owner_default_value);
	zend_string *property_owner_name = zend_string_init("owner", sizeof("owner") - 1, 1);
	zend_declare_typed_property(class_entry, property_owner_name, &property_owner_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_owner_name);

	zval property_label_default_value;
	ZVAL_UNDEF(&property_label_default_value);
	zend_string *property_label_name = zend_string_init("label", sizeof("label") - 1, 1);
	zend_declare_typed_property(class_entry, property_label_name, &property_label_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_label_name);

	zend_string *property_since_class_DateTimeImmutable = zend_string_init("DateTimeImmutable", sizeof("DateTimeImmutable")-1, 1);
	zval property_since_default_value;
	ZVAL_UNDEF(&property_since_default_value);
	zend_string *property_since_name = zend_string_init("since", sizeof("since") - 1, 1);
	zend_declare_typed_property(class_entry, property_since_name, &property_since_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_CLASS(property_since_class_DateTimeImmutable, 0, MAY_BE_NULL));
	zend_string_release(property_since_name);

	return class_entry;
}

static zend_class_entry *register_class_Fencehold_LockInfo(zend_class_entry *class_entry_JsonSerializable)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Fencehold", "LockInfo", class_Fencehold_LockInfo_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;
	zend_class_implements(class_entry, 1, class_entry_JsonSerializable);

	zval property_name_default_value;
	ZVAL_UNDEF(&property_name_default_value);
	zend_string *property_name_name = zend_string_init("name", sizeof("name") - 1, 1);
	zend_declare_typed_property(class_entry, property_name_name, &property_name_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_name_name);

	zval property_held_default_value;
	ZVAL_UNDEF(&property_held_default_value);
	zend_string *property_held_name = zend_string_init("held", sizeof("held") - 1, 1);
	zend_declare_typed_property(class_entry, property_held_name, &property_held_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_BOOL));
	zend_string_release(property_held_name);

	zval property_holders_default_value;
	ZVAL_UNDEF(&property_holders_default_value);
	zend_string *property_holders_name = zend_string_init("holders", sizeof("holders") - 1, 1);
	zend_declare_typed_property(class_entry, property_holders_name, &property_holders_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_ARRAY));
	zend_string_release(property_holders_name);

	zval property_waiters_default_value;
	ZVAL_UNDEF(&property_waiters_default_value);
	zend_string *property_waiters_name = zend_string_init("waiters", sizeof("waiters") - 1, 1);
	zend_declare_typed_property(class_entry, property_waiters_name, &property_waiters_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_ARRAY));
	zend_string_release(property_waiters_name);

	return class_entry;
}

static zend_class_entry *register_class_Fencehold_Refusal(zend_class_entry *class_entry_JsonSerializable)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Fencehold", "Refusal", class_Fencehold_Refusal_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;
	zend_class_implements(class_entry, 1, class_entry_JsonSerializable);

	zval property_reason_default_value;
	ZVAL_UNDEF(&property_reason_default_value);
	zend_string *property_reason_name = zend_string_init("reason", sizeof("reason") - 1, 1);
	zend_declare_typed_property(class_entry, property_reason_name, &property_reason_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_reason_name);

	zval property_holders_default_value;
	ZVAL_UNDEF(&property_holders_default_value);
	zend_string *property_holders_name = zend_string_init("holders", sizeof("holders") - 1, 1);
	zend_declare_typed_property(class_entry, property_holders_name, &property_holders_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_ARRAY));
	zend_string_release(property_holders_name);

	zval property_waiting_default_value;
	ZVAL_UNDEF(&property_waiting_default_value);
	zend_string *property_waiting_name = zend_string_init("waiting", sizeof("waiting") - 1, 1);
	zend_declare_typed_property(class_entry, property_waiting_name, &property_waiting_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_waiting_name);

	return class_entry;
}

static zend_class_entry *register_class_Fencehold_RunResult(void)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Fencehold", "RunResult", class_Fencehold_RunResult_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;

	zval property_acquired_default_value;
	ZVAL_UNDEF(&property_acquired_default_value);
	zend_string *property_acquired_name = zend_string_init("acquired", sizeof("acquired") - 1, 1);
	zend_declare_typed_property(class_entry, property_acquired_name, &property_acquired_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_BOOL));
	zend_string_release(property_acquired_name);

	zval property_value_default_value;
	ZVAL_UNDEF(&property_value_default_value);
	zend_string *property_value_name = zend_string_init("value", sizeof("value") - 1, 1);
	zend_declare_typed_property(class_entry, property_value_name, &property_value_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_ANY));
	zend_string_release(property_value_name);

	zend_string *property_refusal_class_Fencehold_Refusal = zend_string_init("Fencehold\\Refusal", sizeof("Fencehold\\Refusal")-1, 1);
	zval property_refusal_default_value;
	ZVAL_UNDEF(&property_refusal_default_value);
	zend_string *property_refusal_name = zend_string_init("refusal", sizeof("refusal") - 1, 1);
	zend_declare_typed_property(class_entry, property_refusal_name, &property_refusal_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_CLASS(property_refusal_class_Fencehold_Refusal, 0, MAY_BE_NULL));
	zend_string_release(property_refusal_name);

	return class_entry;
}

static zend_class_entry *register_class_Fencehold_CommitResult(void)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Fencehold", "CommitResult", class_Fencehold_CommitResult_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;

	zval property_success_default_value;
	ZVAL_UNDEF(&property_success_default_value);
	zend_string *property_success_name = zend_string_init("success", sizeof("success") - 1, 1);
	zend_declare_typed_property(class_entry, property_success_name, &property_success_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_BOOL));
	zend_string_release(property_success_name);

	zval property_reason_default_value;
	ZVAL_UNDEF(&property_reason_default_value);
	zend_string *property_reason_name = zend_string_init("reason", sizeof("reason") - 1, 1);
	zend_declare_typed_property(class_entry, property_reason_name, &property_reason_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_reason_name);

	zval property_results_default_value;
	ZVAL_UNDEF(&property_results_default_value);
	zend_string *property_results_name = zend_string_init("results", sizeof("results") - 1, 1);
	zend_declare_typed_property(class_entry, property_results_name, &property_results_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_ARRAY));
	zend_string_release(property_results_name);

	return class_entry;
}

static zend_class_entry *register_class_Fencehold_Transaction(void)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Fencehold", "Transaction", class_Fencehold_Transaction_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;

	return class_entry;
}

static zend_class_entry *register_class_Fencehold_Queue(void)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Fencehold", "Queue", class_Fencehold_Queue_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;

	return class_entry;
}

static zend_class_entry *register_class_Fencehold_Kv(void)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Fencehold", "Kv", class_Fencehold_Kv_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;

	return class_entry;
}

static zend_class_entry *register_class_Fencehold_ValueRow(void)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Fencehold", "ValueRow", class_Fencehold_ValueRow_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;

	zval property_key_default_value;
	ZVAL_UNDEF(&property_key_default_value);
	zend_string *property_key_name = zend_string_init("key", sizeof("key") - 1, 1);
	zend_declare_typed_property(class_entry, property_key_name, &property_key_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_key_name);

	zval property_value_default_value;
	ZVAL_UNDEF(&property_value_default_value);
	zend_string *property_value_name = zend_string_init("value", sizeof("value") - 1, 1);
	zend_declare_typed_property(class_entry, property_value_name, &property_value_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_ANY));
	zend_string_release(property_value_name);

	zval property_version_default_value;
	ZVAL_UNDEF(&property_version_default_value);
	zend_string *property_version_name = zend_string_init("version", sizeof("version") - 1, 1);
	zend_declare_typed_property(class_entry, property_version_name, &property_version_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_version_name);

	return class_entry;
}

static zend_class_entry *register_class_Fencehold_ValuePage(void)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Fencehold", "ValuePage", class_Fencehold_ValuePage_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;

	zval property_rows_default_value;
	ZVAL_UNDEF(&property_rows_default_value);
	zend_string *property_rows_name = zend_string_init("rows", sizeof("rows") - 1, 1);
	zend_declare_typed_property(class_entry, property_rows_name, &property_rows_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_ARRAY));
	zend_string_release(property_rows_name);

	zval property_nextAfter_default_value;
	ZVAL_UNDEF(&property_nextAfter_default_value);
	zend_string *property_nextAfter_name = zend_string_init("nextAfter", sizeof("nextAfter") - 1, 1);
	zend_declare_typed_property(class_entry, property_nextAfter_name, &property_nextAfter_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_nextAfter_name);

	return class_entry;
}

static zend_class_entry *register_class_Fencehold_Written(void)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Fencehold", "Written", class_Fencehold_Written_methods);
	class_entry = zend_register_internal_class_ex(&ce, NULL);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;

	zval property_applied_default_value;
	ZVAL_UNDEF(&property_applied_default_value);
	zend_string *property_applied_name = zend_string_init("applied", sizeof("applied") - 1, 1);
	zend_declare_typed_property(class_entry, property_applied_name, &property_applied_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_BOOL));
	zend_string_release(property_applied_name);

	zval property_version_default_value;
	ZVAL_UNDEF(&property_version_default_value);
	zend_string *property_version_name = zend_string_init("version", sizeof("version") - 1, 1);
	zend_declare_typed_property(class_entry, property_version_name, &property_version_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG));
	zend_string_release(property_version_name);

	zval property_value_default_value;
	ZVAL_UNDEF(&property_value_default_value);
	zend_string *property_value_name = zend_string_init("value", sizeof("value") - 1, 1);
	zend_declare_typed_property(class_entry, property_value_name, &property_value_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_ANY));
	zend_string_release(property_value_name);

	zval property_reason_default_value;
	ZVAL_UNDEF(&property_reason_default_value);
	zend_string *property_reason_name = zend_string_init("reason", sizeof("reason") - 1, 1);
	zend_declare_typed_property(class_entry, property_reason_name, &property_reason_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_reason_name);

	return class_entry;
}

static zend_class_entry *register_class_Fencehold_Exception_Exception(zend_class_entry *class_entry_Throwable)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Fencehold\\Exception", "Exception", class_Fencehold_Exception_Exception_methods);
	class_entry = zend_register_internal_interface(&ce);
	zend_class_implements(class_entry, 1, class_entry_Throwable);

	return class_entry;
}

static zend_class_entry *register_class_Fencehold_Exception_HeldException(zend_class_entry *class_entry_RuntimeException, zend_class_entry *class_entry_Fencehold_Exception_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Fencehold\\Exception", "HeldException", class_Fencehold_Exception_HeldException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_RuntimeException);
	class_entry->ce_flags |= ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;
	zend_class_implements(class_entry, 1, class_entry_Fencehold_Exception_Exception);

	zval property_kind_default_value;
	ZVAL_UNDEF(&property_kind_default_value);
	zend_string *property_kind_name = zend_string_init("kind", sizeof("kind") - 1, 1);
	zend_declare_typed_property(class_entry, property_kind_name, &property_kind_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_kind_name);

	zval property_reason_default_value;
	ZVAL_UNDEF(&property_reason_default_value);
	zend_string *property_reason_name = zend_string_init("reason", sizeof("reason") - 1, 1);
	zend_declare_typed_property(class_entry, property_reason_name, &property_reason_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_reason_name);

	zval property_lock_default_value;
	ZVAL_UNDEF(&property_lock_default_value);
	zend_string *property_lock_name = zend_string_init("lock", sizeof("lock") - 1, 1);
	zend_declare_typed_property(class_entry, property_lock_name, &property_lock_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_lock_name);

	zval property_store_default_value;
	ZVAL_UNDEF(&property_store_default_value);
	zend_string *property_store_name = zend_string_init("store", sizeof("store") - 1, 1);
	zend_declare_typed_property(class_entry, property_store_name, &property_store_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_store_name);

	zval property_retry_default_value;
	ZVAL_UNDEF(&property_retry_default_value);
	zend_string *property_retry_name = zend_string_init("retry", sizeof("retry") - 1, 1);
	zend_declare_typed_property(class_entry, property_retry_name, &property_retry_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_retry_name);

	zend_string *property_refusal_class_Fencehold_Refusal = zend_string_init("Fencehold\\Refusal", sizeof("Fencehold\\Refusal")-1, 1);
	zval property_refusal_default_value;
	ZVAL_UNDEF(&property_refusal_default_value);
	zend_string *property_refusal_name = zend_string_init("refusal", sizeof("refusal") - 1, 1);
	zend_declare_typed_property(class_entry, property_refusal_name, &property_refusal_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_CLASS(property_refusal_class_Fencehold_Refusal, 0, MAY_BE_NULL));
	zend_string_release(property_refusal_name);

	return class_entry;
}

static zend_class_entry *register_class_Fencehold_Exception_TimedOutException(zend_class_entry *class_entry_Fencehold_Exception_HeldException)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Fencehold\\Exception", "TimedOutException", class_Fencehold_Exception_TimedOutException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_Fencehold_Exception_HeldException);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;

	return class_entry;
}

static zend_class_entry *register_class_Fencehold_Exception_LostException(zend_class_entry *class_entry_RuntimeException, zend_class_entry *class_entry_Fencehold_Exception_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Fencehold\\Exception", "LostException", class_Fencehold_Exception_LostException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_RuntimeException);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;
	zend_class_implements(class_entry, 1, class_entry_Fencehold_Exception_Exception);

	zval property_kind_default_value;
	ZVAL_UNDEF(&property_kind_default_value);
	zend_string *property_kind_name = zend_string_init("kind", sizeof("kind") - 1, 1);
	zend_declare_typed_property(class_entry, property_kind_name, &property_kind_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_kind_name);

	zval property_reason_default_value;
	ZVAL_UNDEF(&property_reason_default_value);
	zend_string *property_reason_name = zend_string_init("reason", sizeof("reason") - 1, 1);
	zend_declare_typed_property(class_entry, property_reason_name, &property_reason_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_reason_name);

	zval property_lock_default_value;
	ZVAL_UNDEF(&property_lock_default_value);
	zend_string *property_lock_name = zend_string_init("lock", sizeof("lock") - 1, 1);
	zend_declare_typed_property(class_entry, property_lock_name, &property_lock_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_lock_name);

	zval property_store_default_value;
	ZVAL_UNDEF(&property_store_default_value);
	zend_string *property_store_name = zend_string_init("store", sizeof("store") - 1, 1);
	zend_declare_typed_property(class_entry, property_store_name, &property_store_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_store_name);

	zval property_retry_default_value;
	ZVAL_UNDEF(&property_retry_default_value);
	zend_string *property_retry_name = zend_string_init("retry", sizeof("retry") - 1, 1);
	zend_declare_typed_property(class_entry, property_retry_name, &property_retry_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_retry_name);

	zval property_lateByMs_default_value;
	ZVAL_UNDEF(&property_lateByMs_default_value);
	zend_string *property_lateByMs_name = zend_string_init("lateByMs", sizeof("lateByMs") - 1, 1);
	zend_declare_typed_property(class_entry, property_lateByMs_name, &property_lateByMs_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_LONG|MAY_BE_NULL));
	zend_string_release(property_lateByMs_name);

	zval property_value_default_value;
	ZVAL_UNDEF(&property_value_default_value);
	zend_string *property_value_name = zend_string_init("value", sizeof("value") - 1, 1);
	zend_declare_typed_property(class_entry, property_value_name, &property_value_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_ANY));
	zend_string_release(property_value_name);

	return class_entry;
}

static zend_class_entry *register_class_Fencehold_Exception_NotHeldException(zend_class_entry *class_entry_RuntimeException, zend_class_entry *class_entry_Fencehold_Exception_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Fencehold\\Exception", "NotHeldException", class_Fencehold_Exception_NotHeldException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_RuntimeException);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;
	zend_class_implements(class_entry, 1, class_entry_Fencehold_Exception_Exception);

	zval property_kind_default_value;
	ZVAL_UNDEF(&property_kind_default_value);
	zend_string *property_kind_name = zend_string_init("kind", sizeof("kind") - 1, 1);
	zend_declare_typed_property(class_entry, property_kind_name, &property_kind_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_kind_name);

	zval property_reason_default_value;
	ZVAL_UNDEF(&property_reason_default_value);
	zend_string *property_reason_name = zend_string_init("reason", sizeof("reason") - 1, 1);
	zend_declare_typed_property(class_entry, property_reason_name, &property_reason_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_reason_name);

	zval property_lock_default_value;
	ZVAL_UNDEF(&property_lock_default_value);
	zend_string *property_lock_name = zend_string_init("lock", sizeof("lock") - 1, 1);
	zend_declare_typed_property(class_entry, property_lock_name, &property_lock_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_lock_name);

	zval property_store_default_value;
	ZVAL_UNDEF(&property_store_default_value);
	zend_string *property_store_name = zend_string_init("store", sizeof("store") - 1, 1);
	zend_declare_typed_property(class_entry, property_store_name, &property_store_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_store_name);

	zval property_retry_default_value;
	ZVAL_UNDEF(&property_retry_default_value);
	zend_string *property_retry_name = zend_string_init("retry", sizeof("retry") - 1, 1);
	zend_declare_typed_property(class_entry, property_retry_name, &property_retry_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_retry_name);

	return class_entry;
}

static zend_class_entry *register_class_Fencehold_Exception_CancelledException(zend_class_entry *class_entry_RuntimeException, zend_class_entry *class_entry_Fencehold_Exception_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Fencehold\\Exception", "CancelledException", class_Fencehold_Exception_CancelledException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_RuntimeException);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;
	zend_class_implements(class_entry, 1, class_entry_Fencehold_Exception_Exception);

	zval property_kind_default_value;
	ZVAL_UNDEF(&property_kind_default_value);
	zend_string *property_kind_name = zend_string_init("kind", sizeof("kind") - 1, 1);
	zend_declare_typed_property(class_entry, property_kind_name, &property_kind_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_kind_name);

	zval property_reason_default_value;
	ZVAL_UNDEF(&property_reason_default_value);
	zend_string *property_reason_name = zend_string_init("reason", sizeof("reason") - 1, 1);
	zend_declare_typed_property(class_entry, property_reason_name, &property_reason_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_reason_name);

	zval property_lock_default_value;
	ZVAL_UNDEF(&property_lock_default_value);
	zend_string *property_lock_name = zend_string_init("lock", sizeof("lock") - 1, 1);
	zend_declare_typed_property(class_entry, property_lock_name, &property_lock_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_lock_name);

	zval property_store_default_value;
	ZVAL_UNDEF(&property_store_default_value);
	zend_string *property_store_name = zend_string_init("store", sizeof("store") - 1, 1);
	zend_declare_typed_property(class_entry, property_store_name, &property_store_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_store_name);

	zval property_retry_default_value;
	ZVAL_UNDEF(&property_retry_default_value);
	zend_string *property_retry_name = zend_string_init("retry", sizeof("retry") - 1, 1);
	zend_declare_typed_property(class_entry, property_retry_name, &property_retry_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_retry_name);

	return class_entry;
}

static zend_class_entry *register_class_Fencehold_Exception_UnreachableException(zend_class_entry *class_entry_RuntimeException, zend_class_entry *class_entry_Fencehold_Exception_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Fencehold\\Exception", "UnreachableException", class_Fencehold_Exception_UnreachableException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_RuntimeException);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;
	zend_class_implements(class_entry, 1, class_entry_Fencehold_Exception_Exception);

	zval property_kind_default_value;
	ZVAL_UNDEF(&property_kind_default_value);
	zend_string *property_kind_name = zend_string_init("kind", sizeof("kind") - 1, 1);
	zend_declare_typed_property(class_entry, property_kind_name, &property_kind_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_kind_name);

	zval property_reason_default_value;
	ZVAL_UNDEF(&property_reason_default_value);
	zend_string *property_reason_name = zend_string_init("reason", sizeof("reason") - 1, 1);
	zend_declare_typed_property(class_entry, property_reason_name, &property_reason_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_reason_name);

	zval property_lock_default_value;
	ZVAL_UNDEF(&property_lock_default_value);
	zend_string *property_lock_name = zend_string_init("lock", sizeof("lock") - 1, 1);
	zend_declare_typed_property(class_entry, property_lock_name, &property_lock_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_lock_name);

	zval property_store_default_value;
	ZVAL_UNDEF(&property_store_default_value);
	zend_string *property_store_name = zend_string_init("store", sizeof("store") - 1, 1);
	zend_declare_typed_property(class_entry, property_store_name, &property_store_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_store_name);

	zval property_retry_default_value;
	ZVAL_UNDEF(&property_retry_default_value);
	zend_string *property_retry_name = zend_string_init("retry", sizeof("retry") - 1, 1);
	zend_declare_typed_property(class_entry, property_retry_name, &property_retry_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_retry_name);

	zval property_value_default_value;
	ZVAL_UNDEF(&property_value_default_value);
	zend_string *property_value_name = zend_string_init("value", sizeof("value") - 1, 1);
	zend_declare_typed_property(class_entry, property_value_name, &property_value_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_ANY));
	zend_string_release(property_value_name);

	return class_entry;
}

static zend_class_entry *register_class_Fencehold_Exception_InDoubtException(zend_class_entry *class_entry_RuntimeException, zend_class_entry *class_entry_Fencehold_Exception_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Fencehold\\Exception", "InDoubtException", class_Fencehold_Exception_InDoubtException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_RuntimeException);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;
	zend_class_implements(class_entry, 1, class_entry_Fencehold_Exception_Exception);

	zval property_kind_default_value;
	ZVAL_UNDEF(&property_kind_default_value);
	zend_string *property_kind_name = zend_string_init("kind", sizeof("kind") - 1, 1);
	zend_declare_typed_property(class_entry, property_kind_name, &property_kind_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_kind_name);

	zval property_reason_default_value;
	ZVAL_UNDEF(&property_reason_default_value);
	zend_string *property_reason_name = zend_string_init("reason", sizeof("reason") - 1, 1);
	zend_declare_typed_property(class_entry, property_reason_name, &property_reason_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_reason_name);

	zval property_lock_default_value;
	ZVAL_UNDEF(&property_lock_default_value);
	zend_string *property_lock_name = zend_string_init("lock", sizeof("lock") - 1, 1);
	zend_declare_typed_property(class_entry, property_lock_name, &property_lock_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_lock_name);

	zval property_store_default_value;
	ZVAL_UNDEF(&property_store_default_value);
	zend_string *property_store_name = zend_string_init("store", sizeof("store") - 1, 1);
	zend_declare_typed_property(class_entry, property_store_name, &property_store_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_store_name);

	zval property_retry_default_value;
	ZVAL_UNDEF(&property_retry_default_value);
	zend_string *property_retry_name = zend_string_init("retry", sizeof("retry") - 1, 1);
	zend_declare_typed_property(class_entry, property_retry_name, &property_retry_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_retry_name);

	zend_string *property_until_class_DateTimeImmutable = zend_string_init("DateTimeImmutable", sizeof("DateTimeImmutable")-1, 1);
	zval property_until_default_value;
	ZVAL_UNDEF(&property_until_default_value);
	zend_string *property_until_name = zend_string_init("until", sizeof("until") - 1, 1);
	zend_declare_typed_property(class_entry, property_until_name, &property_until_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_CLASS(property_until_class_DateTimeImmutable, 0, MAY_BE_NULL));
	zend_string_release(property_until_name);

	zval property_value_default_value;
	ZVAL_UNDEF(&property_value_default_value);
	zend_string *property_value_name = zend_string_init("value", sizeof("value") - 1, 1);
	zend_declare_typed_property(class_entry, property_value_name, &property_value_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_ANY));
	zend_string_release(property_value_name);

	return class_entry;
}

static zend_class_entry *register_class_Fencehold_Exception_InvalidException(zend_class_entry *class_entry_InvalidArgumentException, zend_class_entry *class_entry_Fencehold_Exception_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Fencehold\\Exception", "InvalidException", class_Fencehold_Exception_InvalidException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_InvalidArgumentException);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;
	zend_class_implements(class_entry, 1, class_entry_Fencehold_Exception_Exception);

	zval property_kind_default_value;
	ZVAL_UNDEF(&property_kind_default_value);
	zend_string *property_kind_name = zend_string_init("kind", sizeof("kind") - 1, 1);
	zend_declare_typed_property(class_entry, property_kind_name, &property_kind_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_kind_name);

	zval property_reason_default_value;
	ZVAL_UNDEF(&property_reason_default_value);
	zend_string *property_reason_name = zend_string_init("reason", sizeof("reason") - 1, 1);
	zend_declare_typed_property(class_entry, property_reason_name, &property_reason_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_reason_name);

	zval property_lock_default_value;
	ZVAL_UNDEF(&property_lock_default_value);
	zend_string *property_lock_name = zend_string_init("lock", sizeof("lock") - 1, 1);
	zend_declare_typed_property(class_entry, property_lock_name, &property_lock_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_lock_name);

	zval property_store_default_value;
	ZVAL_UNDEF(&property_store_default_value);
	zend_string *property_store_name = zend_string_init("store", sizeof("store") - 1, 1);
	zend_declare_typed_property(class_entry, property_store_name, &property_store_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_store_name);

	zval property_retry_default_value;
	ZVAL_UNDEF(&property_retry_default_value);
	zend_string *property_retry_name = zend_string_init("retry", sizeof("retry") - 1, 1);
	zend_declare_typed_property(class_entry, property_retry_name, &property_retry_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_retry_name);

	return class_entry;
}

static zend_class_entry *register_class_Fencehold_Exception_UnauthorizedException(zend_class_entry *class_entry_RuntimeException, zend_class_entry *class_entry_Fencehold_Exception_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Fencehold\\Exception", "UnauthorizedException", class_Fencehold_Exception_UnauthorizedException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_RuntimeException);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;
	zend_class_implements(class_entry, 1, class_entry_Fencehold_Exception_Exception);

	zval property_kind_default_value;
	ZVAL_UNDEF(&property_kind_default_value);
	zend_string *property_kind_name = zend_string_init("kind", sizeof("kind") - 1, 1);
	zend_declare_typed_property(class_entry, property_kind_name, &property_kind_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_kind_name);

	zval property_reason_default_value;
	ZVAL_UNDEF(&property_reason_default_value);
	zend_string *property_reason_name = zend_string_init("reason", sizeof("reason") - 1, 1);
	zend_declare_typed_property(class_entry, property_reason_name, &property_reason_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_reason_name);

	zval property_lock_default_value;
	ZVAL_UNDEF(&property_lock_default_value);
	zend_string *property_lock_name = zend_string_init("lock", sizeof("lock") - 1, 1);
	zend_declare_typed_property(class_entry, property_lock_name, &property_lock_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_lock_name);

	zval property_store_default_value;
	ZVAL_UNDEF(&property_store_default_value);
	zend_string *property_store_name = zend_string_init("store", sizeof("store") - 1, 1);
	zend_declare_typed_property(class_entry, property_store_name, &property_store_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_store_name);

	zval property_retry_default_value;
	ZVAL_UNDEF(&property_retry_default_value);
	zend_string *property_retry_name = zend_string_init("retry", sizeof("retry") - 1, 1);
	zend_declare_typed_property(class_entry, property_retry_name, &property_retry_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_retry_name);

	return class_entry;
}

static zend_class_entry *register_class_Fencehold_Exception_ForbiddenException(zend_class_entry *class_entry_RuntimeException, zend_class_entry *class_entry_Fencehold_Exception_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Fencehold\\Exception", "ForbiddenException", class_Fencehold_Exception_ForbiddenException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_RuntimeException);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;
	zend_class_implements(class_entry, 1, class_entry_Fencehold_Exception_Exception);

	zval property_kind_default_value;
	ZVAL_UNDEF(&property_kind_default_value);
	zend_string *property_kind_name = zend_string_init("kind", sizeof("kind") - 1, 1);
	zend_declare_typed_property(class_entry, property_kind_name, &property_kind_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_kind_name);

	zval property_reason_default_value;
	ZVAL_UNDEF(&property_reason_default_value);
	zend_string *property_reason_name = zend_string_init("reason", sizeof("reason") - 1, 1);
	zend_declare_typed_property(class_entry, property_reason_name, &property_reason_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_reason_name);

	zval property_lock_default_value;
	ZVAL_UNDEF(&property_lock_default_value);
	zend_string *property_lock_name = zend_string_init("lock", sizeof("lock") - 1, 1);
	zend_declare_typed_property(class_entry, property_lock_name, &property_lock_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_lock_name);

	zval property_store_default_value;
	ZVAL_UNDEF(&property_store_default_value);
	zend_string *property_store_name = zend_string_init("store", sizeof("store") - 1, 1);
	zend_declare_typed_property(class_entry, property_store_name, &property_store_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_store_name);

	zval property_retry_default_value;
	ZVAL_UNDEF(&property_retry_default_value);
	zend_string *property_retry_name = zend_string_init("retry", sizeof("retry") - 1, 1);
	zend_declare_typed_property(class_entry, property_retry_name, &property_retry_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_retry_name);

	return class_entry;
}

static zend_class_entry *register_class_Fencehold_Exception_RateLimitedException(zend_class_entry *class_entry_RuntimeException, zend_class_entry *class_entry_Fencehold_Exception_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Fencehold\\Exception", "RateLimitedException", class_Fencehold_Exception_RateLimitedException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_RuntimeException);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;
	zend_class_implements(class_entry, 1, class_entry_Fencehold_Exception_Exception);

	zval property_kind_default_value;
	ZVAL_UNDEF(&property_kind_default_value);
	zend_string *property_kind_name = zend_string_init("kind", sizeof("kind") - 1, 1);
	zend_declare_typed_property(class_entry, property_kind_name, &property_kind_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_kind_name);

	zval property_reason_default_value;
	ZVAL_UNDEF(&property_reason_default_value);
	zend_string *property_reason_name = zend_string_init("reason", sizeof("reason") - 1, 1);
	zend_declare_typed_property(class_entry, property_reason_name, &property_reason_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_reason_name);

	zval property_lock_default_value;
	ZVAL_UNDEF(&property_lock_default_value);
	zend_string *property_lock_name = zend_string_init("lock", sizeof("lock") - 1, 1);
	zend_declare_typed_property(class_entry, property_lock_name, &property_lock_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_lock_name);

	zval property_store_default_value;
	ZVAL_UNDEF(&property_store_default_value);
	zend_string *property_store_name = zend_string_init("store", sizeof("store") - 1, 1);
	zend_declare_typed_property(class_entry, property_store_name, &property_store_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_store_name);

	zval property_retry_default_value;
	ZVAL_UNDEF(&property_retry_default_value);
	zend_string *property_retry_name = zend_string_init("retry", sizeof("retry") - 1, 1);
	zend_declare_typed_property(class_entry, property_retry_name, &property_retry_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_retry_name);

	return class_entry;
}

static zend_class_entry *register_class_Fencehold_Exception_UnsupportedException(zend_class_entry *class_entry_RuntimeException, zend_class_entry *class_entry_Fencehold_Exception_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Fencehold\\Exception", "UnsupportedException", class_Fencehold_Exception_UnsupportedException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_RuntimeException);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;
	zend_class_implements(class_entry, 1, class_entry_Fencehold_Exception_Exception);

	zval property_kind_default_value;
	ZVAL_UNDEF(&property_kind_default_value);
	zend_string *property_kind_name = zend_string_init("kind", sizeof("kind") - 1, 1);
	zend_declare_typed_property(class_entry, property_kind_name, &property_kind_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_kind_name);

	zval property_reason_default_value;
	ZVAL_UNDEF(&property_reason_default_value);
	zend_string *property_reason_name = zend_string_init("reason", sizeof("reason") - 1, 1);
	zend_declare_typed_property(class_entry, property_reason_name, &property_reason_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_reason_name);

	zval property_lock_default_value;
	ZVAL_UNDEF(&property_lock_default_value);
	zend_string *property_lock_name = zend_string_init("lock", sizeof("lock") - 1, 1);
	zend_declare_typed_property(class_entry, property_lock_name, &property_lock_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_lock_name);

	zval property_store_default_value;
	ZVAL_UNDEF(&property_store_default_value);
	zend_string *property_store_name = zend_string_init("store", sizeof("store") - 1, 1);
	zend_declare_typed_property(class_entry, property_store_name, &property_store_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_store_name);

	zval property_retry_default_value;
	ZVAL_UNDEF(&property_retry_default_value);
	zend_string *property_retry_name = zend_string_init("retry", sizeof("retry") - 1, 1);
	zend_declare_typed_property(class_entry, property_retry_name, &property_retry_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_retry_name);

	return class_entry;
}

static zend_class_entry *register_class_Fencehold_Exception_StoreException(zend_class_entry *class_entry_RuntimeException, zend_class_entry *class_entry_Fencehold_Exception_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Fencehold\\Exception", "StoreException", class_Fencehold_Exception_StoreException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_RuntimeException);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;
	zend_class_implements(class_entry, 1, class_entry_Fencehold_Exception_Exception);

	zval property_kind_default_value;
	ZVAL_UNDEF(&property_kind_default_value);
	zend_string *property_kind_name = zend_string_init("kind", sizeof("kind") - 1, 1);
	zend_declare_typed_property(class_entry, property_kind_name, &property_kind_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_kind_name);

	zval property_reason_default_value;
	ZVAL_UNDEF(&property_reason_default_value);
	zend_string *property_reason_name = zend_string_init("reason", sizeof("reason") - 1, 1);
	zend_declare_typed_property(class_entry, property_reason_name, &property_reason_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_reason_name);

	zval property_lock_default_value;
	ZVAL_UNDEF(&property_lock_default_value);
	zend_string *property_lock_name = zend_string_init("lock", sizeof("lock") - 1, 1);
	zend_declare_typed_property(class_entry, property_lock_name, &property_lock_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_lock_name);

	zval property_store_default_value;
	ZVAL_UNDEF(&property_store_default_value);
	zend_string *property_store_name = zend_string_init("store", sizeof("store") - 1, 1);
	zend_declare_typed_property(class_entry, property_store_name, &property_store_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_store_name);

	zval property_retry_default_value;
	ZVAL_UNDEF(&property_retry_default_value);
	zend_string *property_retry_name = zend_string_init("retry", sizeof("retry") - 1, 1);
	zend_declare_typed_property(class_entry, property_retry_name, &property_retry_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_retry_name);

	return class_entry;
}

static zend_class_entry *register_class_Fencehold_Exception_ForkedException(zend_class_entry *class_entry_RuntimeException, zend_class_entry *class_entry_Fencehold_Exception_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Fencehold\\Exception", "ForkedException", class_Fencehold_Exception_ForkedException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_RuntimeException);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;
	zend_class_implements(class_entry, 1, class_entry_Fencehold_Exception_Exception);

	zval property_kind_default_value;
	ZVAL_UNDEF(&property_kind_default_value);
	zend_string *property_kind_name = zend_string_init("kind", sizeof("kind") - 1, 1);
	zend_declare_typed_property(class_entry, property_kind_name, &property_kind_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_kind_name);

	zval property_reason_default_value;
	ZVAL_UNDEF(&property_reason_default_value);
	zend_string *property_reason_name = zend_string_init("reason", sizeof("reason") - 1, 1);
	zend_declare_typed_property(class_entry, property_reason_name, &property_reason_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_reason_name);

	zval property_lock_default_value;
	ZVAL_UNDEF(&property_lock_default_value);
	zend_string *property_lock_name = zend_string_init("lock", sizeof("lock") - 1, 1);
	zend_declare_typed_property(class_entry, property_lock_name, &property_lock_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_lock_name);

	zval property_store_default_value;
	ZVAL_UNDEF(&property_store_default_value);
	zend_string *property_store_name = zend_string_init("store", sizeof("store") - 1, 1);
	zend_declare_typed_property(class_entry, property_store_name, &property_store_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_store_name);

	zval property_retry_default_value;
	ZVAL_UNDEF(&property_retry_default_value);
	zend_string *property_retry_name = zend_string_init("retry", sizeof("retry") - 1, 1);
	zend_declare_typed_property(class_entry, property_retry_name, &property_retry_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_retry_name);

	return class_entry;
}

static zend_class_entry *register_class_Fencehold_Exception_InternalException(zend_class_entry *class_entry_RuntimeException, zend_class_entry *class_entry_Fencehold_Exception_Exception)
{
	zend_class_entry ce, *class_entry;

	INIT_NS_CLASS_ENTRY(ce, "Fencehold\\Exception", "InternalException", class_Fencehold_Exception_InternalException_methods);
	class_entry = zend_register_internal_class_ex(&ce, class_entry_RuntimeException);
	class_entry->ce_flags |= ZEND_ACC_FINAL|ZEND_ACC_NO_DYNAMIC_PROPERTIES|ZEND_ACC_NOT_SERIALIZABLE;
	zend_class_implements(class_entry, 1, class_entry_Fencehold_Exception_Exception);

	zval property_kind_default_value;
	ZVAL_UNDEF(&property_kind_default_value);
	zend_string *property_kind_name = zend_string_init("kind", sizeof("kind") - 1, 1);
	zend_declare_typed_property(class_entry, property_kind_name, &property_kind_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_kind_name);

	zval property_reason_default_value;
	ZVAL_UNDEF(&property_reason_default_value);
	zend_string *property_reason_name = zend_string_init("reason", sizeof("reason") - 1, 1);
	zend_declare_typed_property(class_entry, property_reason_name, &property_reason_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_reason_name);

	zval property_lock_default_value;
	ZVAL_UNDEF(&property_lock_default_value);
	zend_string *property_lock_name = zend_string_init("lock", sizeof("lock") - 1, 1);
	zend_declare_typed_property(class_entry, property_lock_name, &property_lock_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_lock_name);

	zval property_store_default_value;
	ZVAL_UNDEF(&property_store_default_value);
	zend_string *property_store_name = zend_string_init("store", sizeof("store") - 1, 1);
	zend_declare_typed_property(class_entry, property_store_name, &property_store_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING|MAY_BE_NULL));
	zend_string_release(property_store_name);

	zval property_retry_default_value;
	ZVAL_UNDEF(&property_retry_default_value);
	zend_string *property_retry_name = zend_string_init("retry", sizeof("retry") - 1, 1);
	zend_declare_typed_property(class_entry, property_retry_name, &property_retry_default_value, ZEND_ACC_PUBLIC|ZEND_ACC_READONLY, NULL, (zend_type) ZEND_TYPE_INIT_MASK(MAY_BE_STRING));
	zend_string_release(property_retry_name);

	return class_entry;
}
