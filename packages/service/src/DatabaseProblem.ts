/** Sentence for an operator: which PostgreSQL cannot be used, and the error of it or of the system. Never contains its password. */
import { Redacted } from "effect"
import type { SqlError } from "effect/sql"

/** A database without an address is the embedded one. */
export const databaseProblem = (error: SqlError.SqlError, address: Redacted.Redacted | undefined): string => {
  const { cause, message } = error.reason
  const url = address === undefined ? undefined : URL.parse(Redacted.value(address))
  const { code, message: causeMessage } = (typeof cause === "object" && cause !== null ? cause : {}) as {
    readonly code?: unknown
    readonly message?: unknown
  }
  // The error of a host with several addresses has a code and no message.
  const text =
    [causeMessage, code, message].find((each) => typeof each === "string" && each !== "") ?? error.message
  const which = url ? ` ${url.pathname.slice(1)} at ${url.hostname}:${url.port || "5432"}` : ""
  const secret = url ? decodeSafely(url.password) : ""
  const why = secret !== "" && String(text).includes(secret) ? error.reason._tag : text
  return `The database${which} cannot be used: ${why}`
}

const decodeSafely = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
