/**
 * Failures as errors of the Agent Client Protocol.
 *
 * Guarantees: the message is the one that a person reads at the command line, and `data` has the code of the error table and the request id.
 */
import { RequestError } from "@agentclientprotocol/sdk"
import type { CommandFailed } from "../CommandFailed.ts"

const INVALID_PARAMS = -32602
const INTERNAL = -32603
const AUTH_REQUIRED = -32000
const NOT_FOUND = -32002

const codeOf = ({ code, unreachable }: CommandFailed): number => {
  if (code === "unauthorized") return AUTH_REQUIRED
  if (code === "not_found") return NOT_FOUND
  if (code === "schema_validation_failed" || code === "payload_too_large") return INVALID_PARAMS
  return unreachable === true || code !== undefined ? INTERNAL : INVALID_PARAMS
}

export const requestErrorOf = (failure: CommandFailed): RequestError => {
  const { code, details, message, requestId } = failure
  const data = {
    ...(code === undefined ? {} : { code }),
    ...(requestId === undefined ? {} : { requestId }),
    ...(details === undefined ? {} : { details })
  }
  return new RequestError(codeOf(failure), message, data)
}

export const invalidParams = (message: string): RequestError => new RequestError(INVALID_PARAMS, message)

export const authRequired = (message: string): RequestError => new RequestError(AUTH_REQUIRED, message)

export const sessionNotFound = (id: string): RequestError =>
  new RequestError(NOT_FOUND, `Session ${id.slice(0, 100)} is not open here. Load or resume it first.`)
