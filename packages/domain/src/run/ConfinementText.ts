/**
 * Confinement of a run in words, for terminals and programs without their own texts. Also the hint, by the words that a program printed, what the
 * confinement may have to do with its end without a result: `confined` in the details of the error. Imports no runtime code, so that it fits a
 * browser.
 */
import type { KernelRefusal, RunConfinement } from "./Confinement.ts"
import type { RunFailure, RunMode } from "./Run.ts"

/**
 * `temporary`: a file in `/tmp`, of which a run has its own. `hidden`: a file that the run does not see. `refused`: a file or a system call.
 * `network`: a host that is not allowed. `unknown`: the program gave no reason.
 */
export const confinedHints = ["temporary", "hidden", "refused", "network", "unknown"] as const
export type ConfinedHint = (typeof confinedHints)[number]

/** The hint of a failure; `undefined` if it has none. */
export const confinedHintOf = ({ details }: Pick<RunFailure, "details">): ConfinedHint | undefined =>
  confinedHints.find((hint) => hint === details?.["confined"])

/** The last lines that the program printed to stderr; `undefined` if there are none. */
export const lastWordsOf = ({ details }: Pick<RunFailure, "details">): string | undefined => {
  const words = details?.["said"]
  return typeof words === "string" && words.trim() !== "" ? words : undefined
}

/** Why a run is not confined, as a sentence. `undefined` if it is confined, or if its mode says that it is not. */
export const confinementFailure = ({ kind, reason }: RunConfinement, mode: RunMode): string | undefined =>
  kind === "none" && mode !== "full_access" ? reason : undefined

/** The confinement as a phrase: `confined by bubblewrap`. Landlock does not limit connections. */
export const confinementText = (confinement: RunConfinement, mode: RunMode): string => {
  if (confinement.kind === "landlock") return "confined by landlock: files only, the network is open"
  if (confinement.kind !== "none") return `confined by ${confinement.kind}`
  const reason = confinementFailure(confinement, mode)
  return reason === undefined ? "not confined" : `not confined: ${reason}`
}

/** Hint at a failed tool call, as a sentence. */
export const refusalHint = (refusal: KernelRefusal): string =>
  refusal === "write"
    ? "Hint: the confinement of this run may not allow this write. It protects .git/config, .git/hooks and folders such as .vscode."
    : "Hint: the confinement of this run may not allow this."

const failureTexts: Readonly<Record<ConfinedHint, string>> = {
  temporary:
    "Hint: a confined run has its own /tmp. Files of this machine in /tmp are hidden: move what the program needs to its own folder or to the workspace.",
  hidden:
    "Hint: a confined run sees the workspace, the system's folders, and the folders of its program and of toolchains. What the program misses may be somewhere else. docs/confinement.md lists what is visible.",
  refused:
    "Hint: the confinement of this run may not allow this. `corral doctor --probe` shows what it refuses.",
  network:
    "Hint: a confined run reaches only hosts that are declared, allowed or approved. CORRAL_EDGE_RUN_HOSTS lists more of them.",
  unknown:
    "Hint: this run was confined. If its program starts outside of Corral, something that it needs may be hidden: docs/confinement.md lists what is visible."
}

/** Hint at a confined program that ended without a result, as a sentence. */
export const confinedFailureText = (hint: ConfinedHint): string => failureTexts[hint]
