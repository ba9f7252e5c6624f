/** Offer of a device as the table `devices` stores it: bounded JSON text that PostgreSQL accepts. */
import type { Agent } from "@corral/domain/run/Agent"
import type { Offer } from "@corral/domain/link/EdgeLink"
import { SchemaValidationFailed } from "@corral/domain/errors/Failures"
import type { Workspace } from "@corral/domain/device/Workspace"
import { Effect } from "effect"

export interface EncodedOffer {
  readonly version: string
  readonly workspaces: string
  readonly agents: string
  /** Null for an Edge that does not list its commands. */
  readonly commands: string | null
}

const MAX_OFFERED = 200
const MAX_OFFER_CHARACTERS = 262_144

/** Fails if the offer is too large or contains text that can't be stored. */
export const encodeOffer = (offer: Offer): Effect.Effect<EncodedOffer, SchemaValidationFailed> => {
  let isStorable = offer.workspaces.length <= MAX_OFFERED && offer.agents.length <= MAX_OFFERED
  const text = (
    value: ReadonlyArray<Agent> | ReadonlyArray<Workspace> | ReadonlyArray<string> | string
  ): string =>
    JSON.stringify(value, (_, part: unknown) => {
      if (typeof part === "string" && (part.includes("\0") || !part.isWellFormed())) isStorable = false
      return part
    })
  const [agents, workspaces] = [text(offer.agents), text(offer.workspaces)]
  const commands = offer.commands === undefined ? null : text(offer.commands)
  const size = agents.length + workspaces.length + text(offer.version).length + (commands?.length ?? 0)
  return isStorable && size <= MAX_OFFER_CHARACTERS && offer.version.length <= 100
    ? Effect.succeed({ version: offer.version, workspaces, agents, commands })
    : Effect.fail(
        new SchemaValidationFailed({
          message: "The offer is too large or contains text that can't be stored.",
          details: {
            issues: [{ path: "offer", message: "Expected at most 200 workspaces and 200 agents in 256 KiB" }]
          }
        })
      )
}
