/** `corral devices`: lists devices at a Hub with their state. */
import { Effect } from "effect"
import { Command } from "effect/cli"
import { hubFlag, jsonLines } from "../Flags.ts"
import { Host } from "../terminal/Host.ts"
import { readAllPages } from "../AllPages.ts"
import { makePaint } from "../terminal/Paint.ts"
import { connectToSignedInHub } from "../hub/SignedInHub.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

const tints = { online: "green", offline: "dim", revoked: "red" } as const

export const devicesCommand = Command.make(
  "devices",
  { ...hubFlag, json: jsonLines },
  Effect.fn(function* ({ hub, json }) {
    const host = yield* Host
    const { calls } = yield* connectToSignedInHub(hub)
    const { items } = yield* readAllPages((query) => calls.devices.list({ query }))
    const paint = makePaint(host.colours)
    for (const device of items) {
      const { id, lastSeenAt, name, state } = device
      const seen = lastSeenAt === undefined ? "never seen" : `seen ${lastSeenAt}`
      const about = state === "online" ? "" : `  ${paint("dim", seen)}`
      host.write(
        json
          ? `${JSON.stringify(device)}\n`
          : `${id}  ${paint(tints[state], state.padEnd(7))}  ${escapeLine(name)}${about}\n`
      )
    }
    if (!json && items.length === 0)
      host.write("No devices yet. Add this machine with `corral device join`.\n")
  })
).pipe(Command.withDescription("List your devices at the Hub"))
