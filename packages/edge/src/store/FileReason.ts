/** Reason of a failed file operation for people: the words of the operating system, without their code and path. */
import { getSystemErrorMap } from "node:util"

const errnoOf = (cause: unknown): number | undefined =>
  cause instanceof Error && "errno" in cause && typeof cause.errno === "number" ? cause.errno : undefined

/** `permission denied`, `read-only file system`; the message of an error of another kind. */
export const fileReason = (cause: unknown): string => {
  const errno = errnoOf(cause)
  const entry = errno === undefined ? undefined : getSystemErrorMap().get(errno)
  if (entry !== undefined) return entry[1]
  return cause instanceof Error ? cause.message : String(cause)
}

/** Message for a home that cannot be created or written. */
export const unusableHome = (home: string, cause: unknown): string =>
  `${home} cannot be used as a home: ${fileReason(cause)}.`
