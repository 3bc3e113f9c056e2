//! `POST /api/v1/transaction`.

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};

use super::Shared;
use super::answer::{failure, json as json_answer};
use super::kv::precondition;
use crate::queues::mint_id;
use crate::transaction::{Outcome, Rollback, Transaction};

fn rolled_back(id: &str, reason: &str, error: &str) -> Value {
    json!({"transactionId": id, "success": false, "reason": reason, "error": error, "results": []})
}

pub(super) async fn call(State(app): Shared, body: Bytes) -> Response {
    let id = mint_id(fencehold::internal::wall_micros());
    let transaction = match Transaction::parse(&body) {
        Ok(transaction) => transaction,
        Err(unreadable) => {
            let status = match unreadable.is_rollback {
                true => StatusCode::OK,
                false => StatusCode::from_u16(unreadable.refused.status).unwrap_or(StatusCode::BAD_REQUEST),
            };
            return json_answer(status, &rolled_back(&id, unreadable.refused.reason, &unreadable.refused.detail));
        }
    };
    if transaction.has_rows()
        && let Err(refusal) = app.limits.check_pause()
    {
        return refusal;
    }
    let bells = app.bells.clone();
    let size = body.len() as u64 * 2 + 16 * 1024;
    match app.store.write(size, move |step| transaction.run(step, &bells)).await {
        Ok(Outcome::Committed(results)) => {
            json_answer(StatusCode::OK, &json!({"transactionId": id, "success": true, "results": results}))
        }
        Ok(Outcome::Rolled(Rollback::Reason { reason, error })) => {
            json_answer(StatusCode::OK, &rolled_back(&id, reason, &error))
        }
        Ok(Outcome::Rolled(Rollback::Precondition { lost, index })) => {
            let mut body = rolled_back(&id, "kv_precondition", "QKV a required operation on a row lost");
            if let Value::Object(members) = &mut body {
                members.extend(precondition(&lost, index));
            }
            json_answer(StatusCode::OK, &body)
        }
        Err(error) => failure(&error),
    }
}
