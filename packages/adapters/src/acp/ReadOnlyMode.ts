/** Modes of a run in which the agent only reads, and its own read-only mode is used. */
import type { RunMode } from "@corral/domain/approval/RunMode"

export const isReadOnlyMode = (mode: RunMode): boolean => mode === "read_only" || mode === "plan"
