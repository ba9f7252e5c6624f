/** `corral projects`: what one is a member of at a Hub. */
import { Effect } from "effect"
import { Command } from "effect/cli"
import { asked } from "../edge/EdgeClient.ts"
import { hubFlag, jsonLines } from "../Flags.ts"
import { Host } from "../terminal/Host.ts"
import { wholeList } from "../AllPages.ts"
import { painter } from "../terminal/Paint.ts"
import { signedInHub } from "../hub/SignedInHub.ts"
import { visibleLine } from "../terminal/VisibleText.ts"

export const projects = Command.make(
  "projects",
  { ...hubFlag, json: jsonLines },
  Effect.fn(function* ({ hub, json }) {
    const host = yield* Host
    const { calls } = yield* signedInHub(hub)
    const { items } = yield* wholeList((query) => asked(calls.projects.list({ query })))
    const paint = painter(host.colours)
    for (const project of items) {
      const { id, name, role } = project
      host.write(
        json
          ? `${JSON.stringify(project)}\n`
          : `${id}  ${paint("dim", role.padEnd(6))}  ${visibleLine(name)}\n`
      )
    }
    if (!json && items.length === 0) host.write("There are no projects yet: make one in the Hub's console.\n")
  })
).pipe(Command.withDescription("List your projects at the Hub"))
