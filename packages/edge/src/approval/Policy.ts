/**
 * What the Edge answers before it asks a person: the run's mode, then what a person already allowed for this run.
 *
 * Pure. `read_only` and `plan` refuse every risky action, `auto_edit` grants writes inside the workspace, `full_access` grants all.
 * A remembered grant covers exactly what was allowed: the same command in the same folder, the same tool on the same files; it never
 * widens from one command to another.
 */
import type { ApprovalRequest } from "@corral/domain/Approval"
import type { RunMode } from "@corral/domain/Run"
import { isLexicallyInside } from "../workspace/PathContainment.ts"

export type Verdict =
  | { readonly _tag: "Allow"; readonly by: string }
  | { readonly _tag: "Deny"; readonly by: string; readonly reason: string }
  | { readonly _tag: "Ask" }

/** What a decision with a scope beyond `once` is remembered by. A request that names nothing else is remembered by its whole input. */
export const grantKey = ({ action, tool, command, cwd, files, url, input }: ApprovalRequest): string => {
  const named = command ?? files ?? url
  return JSON.stringify([
    action,
    tool ?? null,
    command ?? null,
    cwd ?? null,
    files ?? null,
    url ?? null,
    named ?? input ?? null
  ])
}

/** What git keeps for itself: a hook or a setting there is a command that runs later. */
const isRepositoryInternal = (path: string): boolean =>
  path.split(/[\\/]/).some((segment) => segment.toLowerCase() === ".git")

/** `isInside` says whether a workspace-relative path stays inside; the Edge asks the file system, too. */
export const judge = (
  mode: RunMode,
  granted: ReadonlySet<string>,
  request: ApprovalRequest,
  isInside: (path: string) => boolean = isLexicallyInside
): Verdict => {
  switch (mode) {
    case "read_only":
    case "plan":
      return { _tag: "Deny", by: "policy:mode", reason: `The run's mode is ${mode}: nothing is changed.` }
    case "full_access":
      return { _tag: "Allow", by: "policy:mode" }
    case "auto_edit":
      if (
        request.action === "write" &&
        request.files !== undefined &&
        request.files.length > 0 &&
        request.files.every((path) => isInside(path) && !isRepositoryInternal(path))
      ) {
        return { _tag: "Allow", by: "policy:mode" }
      }
      break
    case "ask":
      break
  }
  return granted.has(grantKey(request)) ? { _tag: "Allow", by: "policy:remembered" } : { _tag: "Ask" }
}
