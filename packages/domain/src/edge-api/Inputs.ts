/** Questions, forms and plans of the runs of this Edge, and answers to them. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { originHeaders } from "../approval/Approval.ts"
import { responses } from "../errors/ErrorTable.ts"
import { idempotencyHeaders } from "../http/Writes.ts"
import { listQuery, page } from "../http/Page.ts"
import { BearerAuthority, RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { InputRequestId, RunId } from "../identity/Ids.ts"
import { AnswerInput, InputRequest, InputState } from "../input/InputRequest.ts"

/** Description of the endpoint that answers, at an Edge and at a Hub. */
export const ANSWER_TEXT =
  "Answers a question, declines it, or decides a plan. The first valid answer wins. `input_already_resolved` if the question is no longer open, " +
  "also after the end of its run; `input_expired` if it expired. An answer that does not fit has one issue for each question."

export class EdgeInputs extends HttpApiGroup.make("inputs")
  .add(
    HttpApiEndpoint.get("list", "/v1/inputs", {
      query: { ...listQuery, runId: Schema.optionalKey(RunId), state: Schema.optionalKey(InputState) },
      success: page(InputRequest),
      error: responses("schema_validation_failed")
    }),
    HttpApiEndpoint.get("get", "/v1/inputs/:id", {
      params: { id: InputRequestId },
      success: InputRequest,
      error: responses("not_found")
    }),
    HttpApiEndpoint.post("answer", "/v1/inputs/answer", {
      headers: { ...idempotencyHeaders, ...originHeaders },
      payload: AnswerInput,
      success: InputRequest,
      error: responses(
        "not_found",
        "input_already_resolved",
        "input_expired",
        "schema_validation_failed",
        "idempotency_conflict",
        "idempotency_in_flight",
        "overloaded"
      )
    }).annotate(OpenApi.Description, ANSWER_TEXT)
  )
  .middleware(SchemaErrors)
  .middleware(BearerAuthority)
  .middleware(RequestIds) {}
