/**
 * What the Edge answers before it asks a person: the run's mode, then what its owner configured for the workspace, then what a person
 * already allowed.
 *
 * Pure. A mode is a ceiling: `read_only` and `plan` refuse every risky action, whatever was granted. `auto_edit` grants writes inside the
 * workspace, `full_access` grants all. A grant counts only where it covers everything that the request would do.
 */
import type { ApprovalRequest } from "@corral/domain/Approval"
import type { RunMode } from "@corral/domain/Run"
import type { Need } from "./Needs.ts"

export type Verdict =
  | { readonly _tag: "Allow"; readonly by: "policy:mode" | "policy:workspace" | "policy:remembered" }
  | { readonly _tag: "Deny"; readonly by: "policy:mode"; readonly reason: string }
  | { readonly _tag: "Ask" }

/** What is granted in the run's workspace. */
export interface Granted {
  /** Whether the owner's configuration covers a need. */
  readonly configured: (need: Need) => boolean
  /** Whether that and what a person allowed cover it. */
  readonly covered: (need: Need) => boolean
}

/** `needs` is what a grant must cover; `undefined` where none can. `isWritable` says where a mode grants writes. */
export const judge = (
  mode: RunMode,
  request: ApprovalRequest,
  needs: ReadonlyArray<Need> | undefined,
  { configured, covered }: Granted,
  isWritable: (path: string) => boolean
): Verdict => {
  const { action, command, files = [], url } = request
  switch (mode) {
    case "read_only":
    case "plan":
      return { _tag: "Deny", by: "policy:mode", reason: `The run's mode is ${mode}: nothing is changed.` }
    case "full_access":
      return { _tag: "Allow", by: "policy:mode" }
    case "auto_edit":
      if (
        action === "write" &&
        command === undefined &&
        url === undefined &&
        files.length > 0 &&
        files.every(isWritable)
      ) {
        return { _tag: "Allow", by: "policy:mode" }
      }
      break
    case "ask":
      break
  }
  if (needs === undefined || needs.length === 0) return { _tag: "Ask" }
  if (needs.every(configured)) return { _tag: "Allow", by: "policy:workspace" }
  return needs.every(covered) ? { _tag: "Allow", by: "policy:remembered" } : { _tag: "Ask" }
}
