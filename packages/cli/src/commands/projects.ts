/** `corral projects`: lists the user's projects at a Hub. */
import { Effect } from "effect"
import { Command } from "effect/cli"
import { hubFlag, jsonLines } from "../Flags.ts"
import { Host } from "../terminal/Host.ts"
import { readAllPages } from "../AllPages.ts"
import { formatItem, makePaint } from "../terminal/Rows.ts"
import { connectToSignedInHub } from "../hub/HubClient.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

export const projectsCommand = Command.make(
  "projects",
  { ...hubFlag, json: jsonLines },
  Effect.fn(function* ({ hub, json }) {
    const host = yield* Host
    const { calls } = yield* connectToSignedInHub(hub)
    const { items } = yield* readAllPages((query) => calls.projects.list({ query }))
    const paint = makePaint(host.colours)
    for (const project of items) {
      const { id, name, role } = project
      const parts = [{ text: role.padEnd(6), style: "dim" } as const, { text: escapeLine(name) }]
      host.write(json ? `${JSON.stringify(project)}\n` : formatItem(id, parts, paint, host.width))
    }
    if (!json && items.length === 0) host.write("No projects yet. Create one in the console of the Hub.\n")
  })
).pipe(Command.withDescription("List your projects at the Hub"))
