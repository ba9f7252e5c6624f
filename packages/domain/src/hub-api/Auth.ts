/**
 * Sign-in: OpenID Connect for browsers, the device flow of RFC 8628 for the command line and desktop.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { responses } from "../ErrorTable.ts"
import { RequestIds, SchemaErrors } from "../RequestContext.ts"
import { SignedIn, SignInKind } from "../User.ts"
import { SessionAuthority } from "./SessionAuthority.ts"

const redirect = HttpApiSchema.WithHeaders(HttpApiSchema.Empty(302), { location: Schema.String })

/** A product session; the token is shown this once. */
export const IssuedToken = Schema.Struct({
  token: Schema.String,
  tokenType: Schema.Literal("Bearer"),
  kind: SignInKind,
  expiresAt: Schema.String
}).annotate({ identifier: "IssuedToken" })
export type IssuedToken = typeof IssuedToken.Type

export const DeviceAuthorization = Schema.Struct({
  deviceCode: Schema.String,
  userCode: Schema.String,
  verificationUri: Schema.String,
  verificationUriComplete: Schema.String,
  expiresInSeconds: Schema.Int,
  intervalSeconds: Schema.Int
}).annotate({ identifier: "DeviceAuthorization" })
export type DeviceAuthorization = typeof DeviceAuthorization.Type

/** The person has not answered yet; ask again after `intervalSeconds`, which grows for those who ask too often. */
export const DevicePending = Schema.Struct({
  state: Schema.Literal("pending"),
  intervalSeconds: Schema.Int
}).annotate({ identifier: "DevicePending" })
export type DevicePending = typeof DevicePending.Type

/** Without a sign-in. */
export class HubSignIn extends HttpApiGroup.make("signIn")
  .add(
    HttpApiEndpoint.get("login", "/client/auth/login", {
      query: { returnTo: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(2_048))) },
      success: redirect,
      error: responses("rate_limited", "overloaded")
    }).annotate(OpenApi.Description, "Redirects to the identity provider. `returnTo` is a path of this Hub."),
    HttpApiEndpoint.get("callback", "/client/auth/callback", {
      query: {
        code: Schema.optionalKey(Schema.String),
        state: Schema.optionalKey(Schema.String),
        error: Schema.optionalKey(Schema.String)
      },
      success: redirect,
      error: responses("unauthorized", "rate_limited")
    }).annotate(OpenApi.Description, "Sets the session cookie and goes back to where the sign-in began."),
    HttpApiEndpoint.post("deviceStart", "/client/auth/device/start", {
      payload: Schema.Struct({ kind: SignInKind, clientName: Schema.optionalKey(Schema.String) }),
      success: DeviceAuthorization,
      error: responses("rate_limited")
    }),
    HttpApiEndpoint.post("deviceToken", "/client/auth/device/token", {
      payload: Schema.Struct({ deviceCode: Schema.String }),
      success: [IssuedToken, DevicePending.pipe(HttpApiSchema.status(202))],
      error: responses("unauthorized", "permission_denied", "rate_limited")
    }).annotate(
      OpenApi.Description,
      "202 while the person has not answered; `permission_denied` when they refused."
    ),
    HttpApiEndpoint.post("backchannelLogout", "/client/auth/backchannel-logout", {
      payload: Schema.Struct({ logout_token: Schema.String }).pipe(HttpApiSchema.asFormUrlEncoded()),
      success: HttpApiSchema.Empty(200),
      error: responses("unauthorized")
    }).annotate(
      OpenApi.Description,
      "Called by the identity provider: ends the sign-ins that the logout token names."
    )
  )
  .middleware(SchemaErrors)
  .middleware(RequestIds) {}

/** With one. */
export class HubAuth extends HttpApiGroup.make("auth")
  .add(
    HttpApiEndpoint.get("me", "/client/auth/me", { success: SignedIn }),
    HttpApiEndpoint.post("refresh", "/client/auth/refresh", { success: IssuedToken }),
    HttpApiEndpoint.post("logout", "/client/auth/logout", { success: HttpApiSchema.NoContent }),
    HttpApiEndpoint.post("deviceApprove", "/client/auth/device/approve", {
      payload: Schema.Struct({ userCode: Schema.String, decision: Schema.Literals(["allow", "deny"]) }),
      success: HttpApiSchema.NoContent,
      error: responses("permission_denied")
    }).annotate(OpenApi.Description, "The signed-in person's answer to a user code.")
  )
  .middleware(SchemaErrors)
  .middleware(SessionAuthority)
  .middleware(RequestIds) {}
