/** Decisions that an editor, the console and a terminal make at the same time. */
import { HubClient } from "@corral/testing/hub/HubClient"
import type { Joined } from "@corral/testing/stack/Joined"
import { until } from "@corral/testing/time/Until"
import { assert } from "@effect/vitest"
import { choose } from "../acp/TestEditor.ts"
import type { EditorHomes } from "./EditorHomes.ts"

interface Decided {
  readonly id: string
  readonly state: string
  readonly origin?: string
}

const PER_RUN = 50
const places: Readonly<Record<string, string>> = {
  editor: "an editor",
  console: "the console",
  terminal: "a terminal"
}

/** Each approval has one winner, whom the Hub, the log of the run and the editor name alike. Returns the origins of the winners. */
export const raceDecisions = async (
  joined: Joined,
  homes: EditorHomes,
  races: number
): Promise<ReadonlyMap<string, number>> => {
  const editor = await homes.open(joined.owner)
  const browser = await joined.hub.atBrowser("owner")
  const { token, userId } = await joined.hub.people.signIn("owner", "cli")
  const terminal = new HubClient(joined.hub.url, token, userId)
  const wins = new Map<string, number>()
  for (let done = 0; done < races;) {
    const count = Math.min(PER_RUN, races - done)
    const session = await editor.create()
    const turn = editor.prompt(session, Array.from({ length: count }, () => "/ask").join("\n"))
    for (let at = 0; at < count; at++) {
      const dialog = await editor.permission(done + at)
      const id = await until(async () => {
        const { body } = await joined.owner.ask<{ readonly items: ReadonlyArray<Decided> }>(
          "GET",
          `/client/approvals?state=pending&projectId=${joined.projectId}`
        )
        return body.items[0]?.id
      }, "the approval")
      const path = `/client/approvals/${id}/decide`
      const others = [
        browser.ask("POST", path, { body: { decision: "deny" } }),
        terminal.ask("POST", path, { body: { decision: "allow" } })
      ]
      choose(dialog, "allow_once")
      await Promise.all(others)
      // The Hub has the decision from the events of the run.
      const { origin = "", state } = await until(async () => {
        const { body } = await joined.owner.ask<Decided>("GET", `/client/approvals/${id}`)
        return body.state === "pending" ? undefined : body
      }, "the decision at the Hub")
      wins.set(origin, (wins.get(origin) ?? 0) + 1)
      const line = `${state} by you in ${places[origin]}`
      await until(
        async () => editor.text.split("An approval without an effect: ").length > done + at + 1 || undefined,
        "the line of the decision"
      )
      const named = editor.text.split("An approval without an effect: ").at(-1) ?? ""
      assert.isTrue(named.startsWith(line), `${line}, but ${named}`)
    }
    await turn
    done += count
  }
  await editor.close()
  return wins
}
