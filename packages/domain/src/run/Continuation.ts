/**
 * What a runtime needs to continue a conversation in a new process, as data next to its adapter, and what shows that one cannot continue.
 *
 * Does not: find conversations. Each runtime stores its own.
 */
import { Schema } from "effect"
import type { RunMode } from "./Run.ts"

/** `any`: may differ from the run that is resumed. `same`: may not. */
const Freedom = Schema.Literals(["any", "same"])

/**
 * Facts about a runtime that resumes conversations. `docs/adapters.md` says how they were verified. If the runtime does not find one, its
 * run fails before any output with the reason `unknown_session`.
 */
export const Continuation = Schema.Struct({
  /** Where the runtime keeps its conversations, for people: `~/.claude/projects`. */
  store: Schema.String,
  model: Freedom,
  mode: Freedom,
  /** Whether it finds a conversation from another folder. A resumed run of Corral keeps its folder. */
  folder: Freedom
})
export type Continuation = typeof Continuation.Type

/** What a resumed run may change. Without a model the runtime chooses. */
interface Choices {
  readonly mode: RunMode
  readonly model?: string | undefined
}

/** Why a run with this model and mode cannot continue the earlier run, as a sentence; `undefined` if it can. */
export const continuationRefusal = (
  { mode, model }: Pick<Continuation, "model" | "mode">,
  label: string,
  earlier: Choices,
  next: Choices
): string | undefined => {
  if (mode === "same" && earlier.mode !== next.mode)
    return `${label} continues a conversation only in its mode: ${earlier.mode}.`
  if (model === "same" && earlier.model !== next.model)
    return `${label} continues a conversation only with its model: ${earlier.model ?? "the default"}.`
  return undefined
}

/** `details.reason` of a run that failed because the runtime did not continue the conversation. Such a run has no output. */
export const continuationFailures: ReadonlyArray<string> = [
  "unknown_session",
  "session_in_use",
  "cannot_resume"
]

/** Whether an error says that a conversation cannot be continued. The same message in a run without `resume` can start. */
export const cannotContinue = ({
  code,
  details = {}
}: {
  readonly code: string
  readonly details?: Readonly<Record<string, unknown>> | undefined
}): boolean => {
  const { issues, reason } = details
  if (code === "runtime_unavailable")
    return typeof reason === "string" && continuationFailures.includes(reason)
  return (
    code === "schema_validation_failed" &&
    Array.isArray(issues) &&
    issues.some((issue: unknown) => Reflect.get(Object(issue), "path") === "resume")
  )
}
