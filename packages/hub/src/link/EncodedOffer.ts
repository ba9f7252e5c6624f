/** What a device offers, as it is stored: bounded, and text that every store can keep. That it is shaped as an offer was found before. */
import type { Agent } from "@corral/domain/run/Agent"
import type { Offer } from "@corral/domain/link/EdgeLink"
import { SchemaValidationFailed } from "@corral/domain/errors/Failures"
import type { Workspace } from "@corral/domain/device/Workspace"
import { Effect } from "effect"

/** An offer as it is stored. */
export interface EncodedOffer {
  readonly version: string
  readonly workspaces: string
  readonly agents: string
  /** Of an Edge that says which it takes. */
  readonly commands: string | null
}

const MAX_OFFERED = 200
const MAX_OFFER_CHARACTERS = 262_144

/** The offer as it is stored, where it is one that can be. */
export const encodeOffer = (offer: Offer): Effect.Effect<EncodedOffer, SchemaValidationFailed> => {
  let whole = offer.workspaces.length <= MAX_OFFERED && offer.agents.length <= MAX_OFFERED
  const text = (
    of: ReadonlyArray<Agent> | ReadonlyArray<Workspace> | ReadonlyArray<string> | string
  ): string =>
    JSON.stringify(of, (_, value: unknown) => {
      if (typeof value === "string" && (value.includes("\0") || !value.isWellFormed())) whole = false
      return value
    })
  const [agents, workspaces] = [text(offer.agents), text(offer.workspaces)]
  const commands = offer.commands === undefined ? null : text(offer.commands)
  const size = agents.length + workspaces.length + text(offer.version).length + (commands?.length ?? 0)
  return whole && size <= MAX_OFFER_CHARACTERS && offer.version.length <= 100
    ? Effect.succeed({ version: offer.version, workspaces, agents, commands })
    : Effect.fail(
        new SchemaValidationFailed({
          message: "This is more than a device may offer.",
          details: {
            issues: [{ path: "offer", message: "Expected at most 200 workspaces and 200 agents in 256 KiB" }]
          }
        })
      )
}
