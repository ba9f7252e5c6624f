/** Questions, forms and plans of all runs that the caller may see. The first valid answer wins, wherever it is given. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { KeyScope, RequiredAuthority } from "../access/EndpointAuthority.ts"
import { originHeaders } from "../approval/Approval.ts"
import { ANSWER_TEXT } from "../edge-api/Inputs.ts"
import { responses } from "../errors/ErrorTable.ts"
import { idempotencyHeaders } from "../http/Writes.ts"
import { listQuery, page } from "../http/Page.ts"
import { RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { InputRequestId, ProjectId, RunId } from "../identity/Ids.ts"
import { InputAnswer, InputState } from "../input/InputRequest.ts"
import { HubInput } from "./HubRun.ts"
import { SessionAuthority } from "./SessionAuthority.ts"

export class HubInputs extends HttpApiGroup.make("inputs")
  .add(
    HttpApiEndpoint.get("list", "/client/inputs", {
      query: {
        ...listQuery,
        projectId: Schema.optionalKey(ProjectId),
        runId: Schema.optionalKey(RunId),
        state: Schema.optionalKey(InputState)
      },
      success: page(HubInput),
      error: responses("permission_denied", "schema_validation_failed")
    })
      .annotate(RequiredAuthority, "session.open")
      .annotate(KeyScope, "read"),
    HttpApiEndpoint.get("get", "/client/inputs/:id", {
      params: { id: InputRequestId },
      success: HubInput,
      error: responses("permission_denied")
    })
      .annotate(RequiredAuthority, "project.read")
      .annotate(KeyScope, "read"),
    HttpApiEndpoint.post("answer", "/client/inputs/:id/answer", {
      params: { id: InputRequestId },
      headers: { ...idempotencyHeaders, ...originHeaders },
      payload: InputAnswer,
      success: HubInput,
      error: responses(
        "permission_denied",
        "unauthorized_target",
        "target_offline",
        "overloaded",
        "conflict",
        "input_already_resolved",
        "input_expired",
        "schema_validation_failed",
        "idempotency_conflict",
        "idempotency_in_flight"
      )
    })
      .annotate(RequiredAuthority, "input.answer")
      .annotate(
        OpenApi.Description,
        `${ANSWER_TEXT} \`conflict\` with the reason \`edge_outdated\` if the version of the device's Edge does not support questions.`
      )
  )
  .middleware(SchemaErrors)
  .middleware(SessionAuthority)
  .middleware(RequestIds) {}
