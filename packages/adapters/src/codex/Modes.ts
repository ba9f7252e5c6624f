/**
 * Codex's sandbox and approval policy for each mode of a run.
 *
 * With `untrusted`, Codex requests permission for each patch and each command, also for reads. So the Edge decides in every mode that may
 * change something, and records it. An allowed command runs in the sandbox first, and outside of it if it fails there. In read-only modes
 * Codex never requests permission, and its sandbox refuses changes.
 *
 * Codex's sandbox does not start in a confined run, and is turned off: the Edge limits files and the network of the run in the same way, or
 * more strictly.
 */
import type { RunMode } from "@corral/domain/run/Run"
import type { RunStart } from "@corral/domain/run/RuntimeAdapter"
import { textOf, type JsonObject } from "../text/Json.ts"

const sandboxes: Readonly<Record<RunMode, string>> = {
  read_only: "read-only",
  plan: "read-only",
  ask: "workspace-write",
  auto_edit: "workspace-write",
  full_access: "danger-full-access"
}

/** `isConfined`: whether the Edge limits the files and the network of the run. */
export const sandboxOf = (mode: RunMode, isConfined = false): string =>
  isConfined ? sandboxes.full_access : sandboxes[mode]

export const approvalPolicyOf = (mode: RunMode): "never" | "untrusted" =>
  mode === "read_only" || mode === "plan" ? "never" : "untrusted"

/** How the agent works with the user, as `turn/start` has it. It stays with the conversation. */
export interface CollaborationMode {
  readonly mode: "plan" | "default"
  readonly settings: {
    readonly model: string
    readonly reasoning_effort: unknown
    readonly developer_instructions: null
  }
}

/**
 * Codex's collaboration mode: in `plan` the agent asks, and hands over a plan. A conversation that is continued in another mode leaves the plan
 * mode. A new conversation has the default. `thread`: the result of its start, with the model.
 */
export const collaborationOf = (
  { mode, resumeSessionId }: Pick<RunStart, "mode" | "resumeSessionId">,
  thread: JsonObject
): CollaborationMode | undefined => {
  const model = textOf(thread["model"])
  if (model === undefined || (mode !== "plan" && resumeSessionId === undefined)) return undefined
  return {
    mode: mode === "plan" ? "plan" : "default",
    settings: { model, reasoning_effort: thread["reasoningEffort"] ?? null, developer_instructions: null }
  }
}
