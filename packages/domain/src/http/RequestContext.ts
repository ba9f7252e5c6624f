/**
 * Middleware of all endpoints of the HTTP contracts: request ids, validation errors and bearer tokens.
 *
 * Does not: implement `RequestIds` and `BearerAuthority`. Each server has its own source of request ids and its own tokens.
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

/** Id of the current request: equal in the response header, the error object and the logs. */
export class CurrentRequestId extends Context.Service<CurrentRequestId, RequestId>()(
  "corral/domain/CurrentRequestId"
) {}

const retryAfterOf = ({ code, details }: Coded<ErrorCode>): number | undefined => {
  const seconds =
    details !== undefined && "retryAfterSeconds" in details ? details["retryAfterSeconds"] : undefined
  return typeof seconds === "number" ? seconds : retryAfterSeconds[code]
}

/** Converts failures of a handler to error objects with the request id. Sets `Retry-After` if a retry can succeed. */
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

/** Responds with 422 and the issues if a parameter, header or body does not match its schema. */
export class SchemaErrors extends HttpApiMiddleware.Service<SchemaErrors, { requires: CurrentRequestId }>()(
  "corral/domain/SchemaErrors",
  { error: responses("schema_validation_failed") }
) {
  /** A response that does not match its own schema stays a defect. */
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

/** Provides the request id to handlers and to `SchemaErrors`. */
export class RequestIds extends HttpApiMiddleware.Service<RequestIds, { provides: CurrentRequestId }>()(
  "corral/domain/RequestIds"
) {}

/** Requires `Authorization: Bearer …`: the local token at an Edge. Fails with `unauthorized`. */
export class BearerAuthority extends HttpApiMiddleware.Service<
  BearerAuthority,
  { requires: CurrentRequestId }
>()("corral/domain/BearerAuthority", {
  security: { bearer: HttpApiSecurity.bearer },
  error: responses("unauthorized")
}) {}
