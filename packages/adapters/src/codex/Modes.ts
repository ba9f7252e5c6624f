/**
 * Corral's modes in Codex's words: what its sandbox lets a command do, and when it asks.
 *
 * `untrusted` asks before each patch and each command, plain reads among them. So the Edge answers in every mode that changes something, and
 * leaves a record; what was allowed runs in the sandbox first, and outside of it where it fails there. Where nothing may change Codex
 * never asks: its sandbox refuses.
 */
import type { RunMode } from "@corral/domain/run/Run"

const sandboxes: Readonly<Record<RunMode, string>> = {
  read_only: "read-only",
  plan: "read-only",
  ask: "workspace-write",
  auto_edit: "workspace-write",
  full_access: "danger-full-access"
}

export const sandboxOf = (mode: RunMode): string => sandboxes[mode]

export const approvalPolicyOf = (mode: RunMode): "never" | "untrusted" =>
  mode === "read_only" || mode === "plan" ? "never" : "untrusted"
