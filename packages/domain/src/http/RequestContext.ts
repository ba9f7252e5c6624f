/**
 * What every endpoint of the HTTP contracts shares: a request id, the 422 answer, and the bearer token.
 *
 * Declares the middleware; each server implements `RequestIds` and `BearerAuthority`, because only it knows where a request id comes
 * from and what a token is worth.
 */
import { Context, Effect, type Layer } from "effect"
import { HttpEffect, HttpServerResponse } from "effect/http"
import { HttpApiMiddleware, HttpApiSecurity } from "effect/http-api"
import {
  responses,
  retryAfterSeconds,
  toErrorObject,
  type Coded,
  type ErrorCode,
  type ErrorObjectOf
} from "../errors/ErrorTable.ts"
import { SchemaValidationFailed } from "../errors/Failures.ts"
import type { RequestId } from "../identity/Ids.ts"
import { issuesOf } from "../errors/ValidationIssues.ts"

/** The id of the request at hand: the same in the response header, the error object and the logs. */
export class CurrentRequestId extends Context.Service<CurrentRequestId, RequestId>()(
  "corral/domain/CurrentRequestId"
) {}

const retryAfterOf = ({ code, details }: Coded<ErrorCode>): number | undefined => {
  const told =
    details !== undefined && "retryAfterSeconds" in details ? details["retryAfterSeconds"] : undefined
  return typeof told === "number" ? told : retryAfterSeconds[code]
}

/** Ends a handler: its failures become error objects that carry the request id, with `Retry-After` where trying again may help. */
export const withErrorObject = <A, E extends Coded<ErrorCode>, R>(
  self: Effect.Effect<A, E, R>
): Effect.Effect<A, ErrorObjectOf<E["code"]>, R | CurrentRequestId> =>
  self.pipe(
    Effect.catch((failure) =>
      Effect.contextWith((context: Context.Context<CurrentRequestId>) => {
        const retryAfter = retryAfterOf(failure)
        if (retryAfter !== undefined) {
          HttpEffect.appendPreResponseHandlerUnsafe(context, (_, response) =>
            Effect.succeed(HttpServerResponse.setHeader(response, "retry-after", String(retryAfter)))
          )
        }
        const requestId = Context.get(context, CurrentRequestId)
        return Effect.fail(toErrorObject<E["code"]>(failure as Coded<E["code"]>, requestId))
      })
    )
  )

/** Answers 422 with the issues where a parameter, header or body does not fit its schema. */
export class SchemaErrors extends HttpApiMiddleware.Service<SchemaErrors, { requires: CurrentRequestId }>()(
  "corral/domain/SchemaErrors",
  { error: responses("schema_validation_failed") }
) {
  /** A response of ours that does not fit its own schema stays a defect. */
  static readonly layer: Layer.Layer<SchemaErrors> = HttpApiMiddleware.layerSchemaErrorTransform(
    SchemaErrors,
    (error) =>
      error.kind === "Body" || error.kind === "ResponseHeaders"
        ? Effect.fail(error)
        : withErrorObject(
            Effect.fail(new SchemaValidationFailed({ details: { issues: issuesOf(error.cause.issue) } }))
          )
  )
}

/** Provides the request id to handlers and to the middleware above. */
export class RequestIds extends HttpApiMiddleware.Service<RequestIds, { provides: CurrentRequestId }>()(
  "corral/domain/RequestIds"
) {}

/** `Authorization: Bearer …`: on Edge the local Edge token, on the Hub a session token. */
export class BearerAuthority extends HttpApiMiddleware.Service<
  BearerAuthority,
  { requires: CurrentRequestId }
>()("corral/domain/BearerAuthority", {
  security: { bearer: HttpApiSecurity.bearer },
  error: responses("unauthorized")
}) {}
