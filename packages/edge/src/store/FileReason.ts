/** Reason of a failed file operation for people: the words of the operating system, without their code and path. */
import { getSystemErrorMap } from "node:util"

const errnoOf = (cause: unknown): number | undefined =>
  cause instanceof Error && "errno" in cause && typeof cause.errno === "number" ? cause.errno : undefined

const FREE_SPACE = "Free disk space: an Edge needs 100 MB"
/** What to do, by what an error says. */
const remedies: ReadonlyArray<readonly [words: string, remedy: string]> = [
  ["no space left on device", FREE_SPACE],
  ["disk is full", FREE_SPACE],
  ["quota exceeded", FREE_SPACE],
  ["too many open files", "Raise the limit of open files: `ulimit -n 4096`"]
]

/** The reason with what to do about it. */
export const withRemedy = (reason: string): string => {
  const remedy = remedies.find(([words]) => reason.includes(words))?.[1]
  return remedy === undefined ? reason : `${reason}. ${remedy}`
}

/** `permission denied`, `read-only file system`; the message of an error of another kind. */
export const fileReason = (cause: unknown): string => {
  const errno = errnoOf(cause)
  const entry = errno === undefined ? undefined : getSystemErrorMap().get(errno)
  if (entry !== undefined) return withRemedy(entry[1])
  return withRemedy(cause instanceof Error ? cause.message : String(cause))
}

/** Message for a home that cannot be created or written. */
export const unusableHome = (home: string, cause: unknown): string =>
  `${home} cannot be used as a home: ${fileReason(cause)}.`
