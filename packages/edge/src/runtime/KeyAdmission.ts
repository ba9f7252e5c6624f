/** Whether a run may start by the setting for the keys of its adapter, and what the run says about it. */
import { PermissionDenied, RuntimeUnavailable } from "@corral/domain/errors/Failures"
import { namesSameAgent } from "@corral/domain/offer/Offer"
import type { RunConfinement } from "@corral/domain/run/Confinement"
import type { AnyRuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { Effect } from "effect"
import type { EdgeConfig, KeyEntry } from "../config/EdgeConfig.ts"
import { keysOfRun, keyVariables } from "../network/KeyServices.ts"
import type { OfferedAgent } from "./Offers.ts"

/** The setting for an adapter. One that names an adapter that it replaced holds for it, too, and the stricter one counts. */
export const keyEntryOf = ({ proxyKeys }: EdgeConfig, adapterId: string): KeyEntry | undefined => {
  const entries = proxyKeys.filter(({ adapter }) => namesSameAgent(adapter, adapterId))
  const strict = entries.filter(({ setting }) => setting !== "preferred")
  const candidates = strict.length > 0 ? strict : entries
  return candidates.find(({ adapter }) => adapter === adapterId) ?? candidates[0]
}

/** Other means do not read the connections of a run, so its keys are in the run. */
const keepsKeys = (confinement: RunConfinement | undefined): boolean => confinement?.kind === "bubblewrap"

/** The confinement as the run shows it: one that receives its keys although they could stay outside says so. */
export const admitWithKeys = (
  entry: KeyEntry | undefined,
  { label }: OfferedAgent,
  confinement: RunConfinement | undefined
): Effect.Effect<RunConfinement | undefined, PermissionDenied> => {
  if (entry === undefined || keepsKeys(confinement)) return Effect.succeed(confinement)
  const kind = confinement?.kind ?? "none"
  const reason =
    kind === "none"
      ? (confinement?.reason ?? "The confinement of runs is off.")
      : "This machine confines runs without bubblewrap."
  return entry.setting === "preferred"
    ? Effect.succeed({ kind, reason: `${reason} It has the key of its model service.` })
    : Effect.fail(
        new PermissionDenied({
          message: `${label} runs only where its key stays outside of the run, which needs bubblewrap. ${reason}`,
          details: { reason: "not_confined" }
        })
      )
}

/** Fails if the run has no key that could stay outside, or one that the proxy cannot add. `env`: the run's environment, with its keys. */
export const checkKeys = (
  entry: KeyEntry | undefined,
  { adapter, id, label }: OfferedAgent,
  confinement: RunConfinement | undefined,
  env: Readonly<Record<string, string>>,
  { environment }: EdgeConfig
): Effect.Effect<void, RuntimeUnavailable> => {
  if (entry === undefined || !keepsKeys(confinement)) return Effect.void
  const declared = adapter.network?.keys ?? []
  const found = keysOfRun({ declared, entry, env, environment })
  const refuse = (message: string, reason: string) =>
    Effect.fail(new RuntimeUnavailable({ message, details: { reason, agentId: id } }))
  if ("problem" in found) return refuse(found.problem, "key_unusable")
  if (found.length > 0 || entry.setting === "preferred") return Effect.void
  const names = keyVariables(declared, entry)
  return refuse(
    names.length === 0
      ? `${label} declares no key that can stay outside of its runs. List a variable and its addresses in CORRAL_EDGE_PROXY_KEYS.`
      : `The Edge has no key for ${label} that can stay outside of the run. Set one of ${names.slice(0, 5).join(", ")} for the Edge.`,
    "key_missing"
  )
}

/** Values of the variables with keys. */
export const keyValues = (
  entry: KeyEntry | undefined,
  { network }: AnyRuntimeAdapter,
  env: Readonly<Record<string, string>>
): ReadonlyArray<string> =>
  entry === undefined
    ? []
    : keyVariables(network?.keys ?? [], entry).flatMap((name) => env[name]?.trim() ?? [])
