/**
 * The HTTP contract of a Gateway: what the chat platform calls. Answers come within the platform's 3 seconds; work comes after them.
 *
 * Bodies belong to the platform and are verified over their raw bytes before anything is decoded, so the contract takes them as they are.
 */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { responses } from "../errors/ErrorTable.ts"
import { Liveness, PublicHealth, PublicNotReady } from "../http/Health.ts"
import { RequestIds, SchemaErrors } from "../http/RequestContext.ts"

/** A JSON object of the platform, signed or encrypted. */
export const PlatformBody = Schema.Record(Schema.String, Schema.Unknown).annotate({
  identifier: "PlatformBody"
})

/** The platform's handshake is answered with its challenge; everything else with an empty object, or with no body. */
export const EventAnswer = Schema.Struct({ challenge: Schema.optionalKey(Schema.String) }).annotate({
  identifier: "EventAnswer"
})

/** What the person who clicked sees at once. */
export const CardAnswer = Schema.Struct({
  challenge: Schema.optionalKey(Schema.String),
  toast: Schema.optionalKey(
    Schema.Struct({
      type: Schema.Literals(["success", "info", "warning", "error"]),
      content: Schema.String,
      /** By the platform's name of a language, such as `zh_cn`. */
      i18n: Schema.optionalKey(Schema.Record(Schema.String, Schema.String))
    })
  )
}).annotate({ identifier: "CardAnswer" })
export type CardAnswer = typeof CardAnswer.Type

const refusals = responses(
  "unauthorized",
  "permission_denied",
  "payload_too_large",
  "unsupported_media_type",
  "rate_limited",
  "overloaded"
)

export class GatewayHealth extends HttpApiGroup.make("health")
  .add(
    HttpApiEndpoint.get("health", "/health", {
      success: PublicHealth,
      error: PublicNotReady
    }).annotate(
      OpenApi.Description,
      "503 while the store cannot be written: what is sent meanwhile is not taken."
    ),
    HttpApiEndpoint.get("live", "/health/live", { success: Liveness })
  )
  .middleware(RequestIds) {}

export class GatewayFeishu extends HttpApiGroup.make("feishu")
  .add(
    HttpApiEndpoint.post("events", "/integrations/feishu/events", {
      payload: PlatformBody,
      success: EventAnswer,
      error: refusals
    }).annotate(
      OpenApi.Description,
      "Stored before it is answered; 503 where it cannot be, so that the platform sends it again."
    ),
    HttpApiEndpoint.post("cardActions", "/integrations/feishu/card-actions", {
      payload: PlatformBody,
      success: CardAnswer,
      error: refusals
    }).annotate(
      OpenApi.Description,
      "Stored before it is answered; an error toast where it cannot be, because the platform does not retry."
    )
  )
  .middleware(SchemaErrors)
  .middleware(RequestIds) {}

/** One field of a form: JSON, signed. */
const SlackForm = Schema.Struct({ payload: Schema.String })
  .annotate({ identifier: "SlackForm" })
  .pipe(HttpApiSchema.asFormUrlEncoded())

export class GatewaySlack extends HttpApiGroup.make("slack")
  .add(
    HttpApiEndpoint.post("events", "/integrations/slack/events", {
      payload: PlatformBody,
      success: [EventAnswer, HttpApiSchema.Empty(200)],
      error: refusals
    }).annotate(
      OpenApi.Description,
      "Stored before it is answered; 503 where it cannot be, so that the platform sends it again."
    ),
    HttpApiEndpoint.post("cardActions", "/integrations/slack/card-actions", {
      payload: SlackForm,
      success: HttpApiSchema.Empty(200),
      error: refusals
    }).annotate(
      OpenApi.Description,
      "Stored before it is answered; 503 where it cannot be, so that the platform tells who clicked: it does not retry, and reads no body."
    )
  )
  .middleware(SchemaErrors)
  .middleware(RequestIds) {}

export class GatewayApi extends HttpApi.make("gateway")
  .add(GatewayHealth, GatewayFeishu, GatewaySlack)
  .annotate(HttpApi.ParseOptions, { errors: "all" })
  .annotateMerge(
    OpenApi.annotations({
      title: "Corral Gateway",
      version: "1",
      description:
        "Chat platforms come in here. Every answer carries `X-Request-Id` and `X-Contract-Version`."
    })
  ) {}
