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
