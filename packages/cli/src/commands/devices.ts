/** `corral devices`: lists devices at a Hub with their state. */
import { Clock, Effect } from "effect"
import { Command } from "effect/cli"
import { hubFlag, jsonLines } from "../Flags.ts"
import { Host } from "../terminal/Host.ts"
import { readAllPages } from "../AllPages.ts"
import { formatItem } from "../terminal/ItemLines.ts"
import { makePaint } from "../terminal/Paint.ts"
import { connectToSignedInHub } from "../hub/SignedInHub.ts"
import { listedTime } from "../terminal/ShownTime.ts"
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
    const now = yield* Clock.currentTimeMillis
    for (const device of items) {
      const { id, lastSeenAt, name, state } = device
      const seen = lastSeenAt === undefined ? "never seen" : `seen ${listedTime(lastSeenAt, host.width, now)}`
      const parts = [
        { text: state.padEnd(7), style: tints[state] },
        { text: escapeLine(name) },
        ...(state === "online" ? [] : [{ text: seen, style: "dim" } as const])
      ]
      host.write(json ? `${JSON.stringify(device)}\n` : formatItem(id, parts, paint, host.width))
    }
    if (!json && items.length === 0)
      host.write("No devices yet. Add this machine with `corral device join`.\n")
  })
).pipe(Command.withDescription("List your devices at the Hub"))
