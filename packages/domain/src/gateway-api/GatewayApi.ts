/**
 * HTTP contract of a Gateway: webhooks of chat platforms. The Gateway responds within the platform's limit of 3 seconds and processes events
 * afterwards.
 *
 * The platforms define the bodies. The Gateway verifies the raw bytes before it decodes them, so the contract accepts any body.
 */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { responses } from "../errors/ErrorTable.ts"
import { Liveness, PublicHealth, PublicNotReady } from "../http/Health.ts"
import { RequestIds, SchemaErrors } from "../http/RequestContext.ts"

/** JSON object of a chat platform, signed or encrypted. */
export const PlatformBody = Schema.Record(Schema.String, Schema.Unknown).annotate({
  identifier: "PlatformBody"
})

/** Response to an event: the challenge of the platform's handshake, or an empty object. */
export const WebhookResponse = Schema.Struct({ challenge: Schema.optionalKey(Schema.String) }).annotate({
  identifier: "EventAnswer"
})

/** Response to a card action: the message that the user sees immediately after the click. */
export const CardActionResponse = Schema.Struct({
  challenge: Schema.optionalKey(Schema.String),
  toast: Schema.optionalKey(
    Schema.Struct({
      type: Schema.Literals(["success", "info", "warning", "error"]),
      content: Schema.String,
      /** Translations of `content`. Keys are the platform's names of languages, such as `zh_cn`. */
      i18n: Schema.optionalKey(Schema.Record(Schema.String, Schema.String))
    })
  )
}).annotate({ identifier: "CardAnswer" })
export type CardActionResponse = typeof CardActionResponse.Type

const refusals = responses(
  "unauthorized",
  "permission_denied",
  "payload_too_large",
  "unsupported_media_type",
  "rate_limited",
  "overloaded"
)

/** Readiness and liveness of a Gateway. */
export class GatewayHealth extends HttpApiGroup.make("health")
  .add(
    HttpApiEndpoint.get("health", "/health", {
      success: PublicHealth,
      error: PublicNotReady
    }).annotate(
      OpenApi.Description,
      "503 while the Gateway cannot write to its store. It refuses events during that time."
    ),
    HttpApiEndpoint.get("live", "/health/live", { success: Liveness })
  )
  .middleware(RequestIds) {}

/** Webhooks of Feishu. */
export class GatewayFeishu extends HttpApiGroup.make("feishu")
  .add(
    HttpApiEndpoint.post("events", "/integrations/feishu/events", {
      payload: PlatformBody,
      success: WebhookResponse,
      error: refusals
    }).annotate(
      OpenApi.Description,
      "The Gateway stores the event before it responds. If it cannot, it returns 503, and the platform sends the event again."
    ),
    HttpApiEndpoint.post("cardActions", "/integrations/feishu/card-actions", {
      payload: PlatformBody,
      success: CardActionResponse,
      error: refusals
    }).annotate(
      OpenApi.Description,
      "The Gateway stores the action before it responds. If it cannot, the response is an error toast, because Feishu does not retry."
    )
  )
  .middleware(SchemaErrors)
  .middleware(RequestIds) {}

/** Form with one field, which contains signed JSON. */
const SlackForm = Schema.Struct({ payload: Schema.String })
  .annotate({ identifier: "SlackForm" })
  .pipe(HttpApiSchema.asFormUrlEncoded())

/** Webhooks of Slack. */
export class GatewaySlack extends HttpApiGroup.make("slack")
  .add(
    HttpApiEndpoint.post("events", "/integrations/slack/events", {
      payload: PlatformBody,
      success: [WebhookResponse, HttpApiSchema.Empty(200)],
      error: refusals
    }).annotate(
      OpenApi.Description,
      "The Gateway stores the event before it responds. If it cannot, it returns 503, and the platform sends the event again."
    ),
    HttpApiEndpoint.post("cardActions", "/integrations/slack/card-actions", {
      payload: SlackForm,
      success: HttpApiSchema.Empty(200),
      error: refusals
    }).annotate(
      OpenApi.Description,
      "The Gateway stores the action before it responds. If it cannot, it returns 503, and Slack shows an error: Slack does not retry and ignores the body."
    )
  )
  .middleware(SchemaErrors)
  .middleware(RequestIds) {}

/** All endpoints of a Gateway. */
export class GatewayApi extends HttpApi.make("gateway")
  .add(GatewayHealth, GatewayFeishu, GatewaySlack)
  .annotate(HttpApi.ParseOptions, { errors: "all" })
  .annotateMerge(
    OpenApi.annotations({
      title: "Corral Gateway",
      version: "1",
      description:
        "Receives events of chat platforms. Every response has the headers `X-Request-Id` and `X-Contract-Version`."
    })
  ) {}
