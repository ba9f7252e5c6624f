/**
 * Sign-in: OpenID Connect for browsers, the device flow of RFC 8628 for the command line and desktop, API keys for services.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { KeyScope, RequiredAuthority } from "../access/EndpointAuthority.ts"
import { ApiKey, CreateApiKey, IssuedApiKey } from "../identity/ApiKey.ts"
import { responses } from "../errors/ErrorTable.ts"
import { createdResponse } from "../http/Writes.ts"
import { ApiKeyId, SignInId } from "../identity/Ids.ts"
import { listQuery, page } from "../http/Page.ts"
import { RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { oneLine } from "../text/Text.ts"
import { OpenSignIn, SignedIn, SignInKind } from "../identity/User.ts"
import { SessionAuthority } from "./SessionAuthority.ts"

/** Token or code from a caller. The limit is above the length of any valid one. */
const secret = Schema.String.check(Schema.isMaxLength(4_096))

const redirect = HttpApiSchema.WithHeaders(HttpApiSchema.Empty(302), { location: Schema.String })

/** Token of a new or renewed sign-in. Only this response contains it. */
export const IssuedToken = Schema.Struct({
  token: Schema.String,
  tokenType: Schema.Literal("Bearer"),
  kind: SignInKind,
  expiresAt: Schema.String
}).annotate({ identifier: "IssuedToken" })
export type IssuedToken = typeof IssuedToken.Type

/** Codes of a started device flow. Durations are in seconds. */
export const DeviceAuthorization = Schema.Struct({
  deviceCode: Schema.String,
  userCode: Schema.String,
  verificationUri: Schema.String,
  verificationUriComplete: Schema.String,
  expiresInSeconds: Schema.Int,
  intervalSeconds: Schema.Int
}).annotate({ identifier: "DeviceAuthorization" })
export type DeviceAuthorization = typeof DeviceAuthorization.Type

/** The user has not decided yet. Poll again after `intervalSeconds`, which grows if the caller polls too often. */
export const DevicePending = Schema.Struct({
  state: Schema.Literal("pending"),
  intervalSeconds: Schema.Int
}).annotate({ identifier: "DevicePending" })
export type DevicePending = typeof DevicePending.Type

/** Client that waits for a sign-in. The user compares it with their device before they decide. */
export const WaitingDevice = Schema.Struct({
  kind: SignInKind,
  clientName: Schema.optionalKey(Schema.String),
  startedAt: Schema.String
}).annotate({ identifier: "WaitingDevice" })
export type WaitingDevice = typeof WaitingDevice.Type

const userCode = Schema.String.check(Schema.isMaxLength(32))

/** Endpoints that do not require a sign-in. */
export class HubSignIn extends HttpApiGroup.make("signIn")
  .add(
    HttpApiEndpoint.get("login", "/client/auth/login", {
      query: {
        returnTo: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(2_048))),
        fresh: Schema.optionalKey(Schema.Literal("1"))
      },
      success: redirect,
      error: responses("not_found", "rate_limited", "overloaded")
    })
      .annotate(RequiredAuthority, "public.read")
      .annotate(
        OpenApi.Description,
        "Redirects to the identity provider. `returnTo` is a path of this Hub; other values mean `/`. With `fresh` the provider asks for a sign-in even if it has a session. `not_found` if no provider is configured."
      ),
    HttpApiEndpoint.get("callback", "/client/auth/callback", {
      query: {
        code: Schema.optionalKey(secret),
        state: Schema.optionalKey(secret),
        error: Schema.optionalKey(secret)
      },
      success: redirect,
      error: responses("unauthorized", "permission_denied", "not_found", "rate_limited", "overloaded")
    })
      .annotate(RequiredAuthority, "public.read")
      .annotate(OpenApi.Description, "Sets the session cookie and redirects to `returnTo` of the sign-in."),
    HttpApiEndpoint.post("deviceStart", "/client/auth/device/start", {
      payload: Schema.Struct({
        kind: Schema.Literals(["desktop", "cli"]),
        clientName: Schema.optionalKey(oneLine(100))
      }),
      success: DeviceAuthorization,
      error: responses("rate_limited")
    }).annotate(RequiredAuthority, "public.read"),
    HttpApiEndpoint.post("deviceToken", "/client/auth/device/token", {
      payload: Schema.Struct({ deviceCode: secret }),
      success: [IssuedToken, DevicePending.pipe(HttpApiSchema.status(202))],
      error: responses("unauthorized", "permission_denied", "rate_limited")
    })
      .annotate(RequiredAuthority, "public.read")
      .annotate(OpenApi.Description, "202 until the user decides. `permission_denied` if the user refused."),
    HttpApiEndpoint.post("backchannelLogout", "/client/auth/backchannel-logout", {
      payload: Schema.Struct({ logout_token: Schema.String.check(Schema.isMaxLength(16_384)) }).pipe(
        HttpApiSchema.asFormUrlEncoded()
      ),
      success: HttpApiSchema.Empty(200),
      error: responses("unauthorized", "not_found", "overloaded")
    })
      .annotate(RequiredAuthority, "public.read")
      .annotate(
        OpenApi.Description,
        "Called by the identity provider. Ends the sign-ins that the logout token names."
      )
  )
  .middleware(SchemaErrors)
  .middleware(RequestIds) {}

/** Endpoints that require a sign-in. */
export class HubAuth extends HttpApiGroup.make("auth")
  .add(
    HttpApiEndpoint.get("me", "/client/auth/me", { success: SignedIn })
      .annotate(RequiredAuthority, "session.open")
      .annotate(KeyScope, "read"),
    HttpApiEndpoint.post("refresh", "/client/auth/refresh", {
      success: IssuedToken,
      error: responses("permission_denied", "rate_limited")
    })
      .annotate(RequiredAuthority, "session.open")
      .annotate(
        OpenApi.Description,
        "Exchanges the bearer token for a new token of the same sign-in. The old token is valid for another 30 s. Using it later ends the " +
          "sign-in. A browser's cookie is not exchanged: using it renews it."
      ),
    HttpApiEndpoint.post("logout", "/client/auth/logout", { success: HttpApiSchema.NoContent }).annotate(
      RequiredAuthority,
      "session.open"
    ),
    HttpApiEndpoint.get("sessions", "/client/auth/sessions", {
      query: listQuery,
      success: page(OpenSignIn),
      error: responses("permission_denied", "schema_validation_failed")
    })
      .annotate(RequiredAuthority, "session.open")
      .annotate(OpenApi.Description, "Valid sign-ins of the caller, newest first."),
    HttpApiEndpoint.delete("endSession", "/client/auth/sessions/:id", {
      params: { id: SignInId },
      success: HttpApiSchema.NoContent,
      error: responses("permission_denied")
    })
      .annotate(RequiredAuthority, "session.open")
      .annotate(OpenApi.Description, "Ends a sign-in of the caller. It can be the one of this request."),
    HttpApiEndpoint.delete("endOtherSessions", "/client/auth/sessions", {
      success: HttpApiSchema.NoContent,
      error: responses("permission_denied")
    })
      .annotate(RequiredAuthority, "session.open")
      .annotate(OpenApi.Description, "Ends all sign-ins of the caller except the one of this request."),
    HttpApiEndpoint.get("deviceWaiting", "/client/auth/device", {
      query: { userCode },
      success: WaitingDevice,
      error: responses("permission_denied", "rate_limited")
    })
      .annotate(RequiredAuthority, "session.open")
      .annotate(OpenApi.Description, "Client that waits for a decision on this user code."),
    HttpApiEndpoint.post("deviceApprove", "/client/auth/device/approve", {
      payload: Schema.Struct({ userCode, decision: Schema.Literals(["allow", "deny"]) }),
      success: HttpApiSchema.NoContent,
      error: responses("permission_denied", "conflict", "rate_limited")
    })
      .annotate(RequiredAuthority, "session.open")
      .annotate(
        OpenApi.Description,
        "Decision on a user code. `allow` requires the browser's cookie and a sign-in at most 15 minutes old: `permission_denied` " +
          "for a bearer token, `conflict` with `details.reason` `sign_in_old` for an older sign-in (`/client/auth/login?fresh=1`)."
      )
  )
  .middleware(SchemaErrors)
  .middleware(SessionAuthority)
  .middleware(RequestIds) {}

/** API keys of the signed-in user. An API key cannot call these endpoints. */
export class HubApiKeys extends HttpApiGroup.make("apiKeys")
  .add(
    HttpApiEndpoint.get("list", "/client/auth/keys", {
      query: listQuery,
      success: page(ApiKey),
      error: responses("permission_denied", "schema_validation_failed")
    }).annotate(RequiredAuthority, "session.open"),
    HttpApiEndpoint.post("create", "/client/auth/keys", {
      payload: CreateApiKey,
      success: IssuedApiKey.pipe(createdResponse),
      error: responses("permission_denied", "conflict")
    })
      .annotate(RequiredAuthority, "session.open")
      .annotate(
        OpenApi.Description,
        "Only this response contains the token. Requires the browser's cookie and a sign-in at most 15 minutes old."
      ),
    HttpApiEndpoint.delete("remove", "/client/auth/keys/:id", {
      params: { id: ApiKeyId },
      success: HttpApiSchema.NoContent,
      error: responses("permission_denied")
    }).annotate(RequiredAuthority, "session.open")
  )
  .middleware(SchemaErrors)
  .middleware(SessionAuthority)
  .middleware(RequestIds) {}
