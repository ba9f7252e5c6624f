/** What the Hub and the Edge stored of one session, and whether both stored the same. */
import { isTerminal } from "@corral/domain/run/RunEnd"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { RunId } from "@corral/domain/identity/Ids"
import type { Envelope } from "@corral/domain/run/RunEvent"
import type { Message } from "@corral/domain/session/Message"
import type { SessionItem } from "@corral/domain/session/Session"
import type { Joined } from "@corral/testing/stack/Joined"
import { until } from "@corral/testing/time/Until"
import type { ConversationRecord } from "./FaultProduct.ts"

interface Items<A> {
  readonly items: ReadonlyArray<A>
}

type EventPage = Items<Envelope>

const PAGE = 200

/** All events of a run, of a service with pages of them. */
const allEvents = async (
  page: (after: number) => Promise<EventPage>,
  lastSeq: number
): Promise<ReadonlyArray<Envelope>> => {
  const events: Array<Envelope> = []
  for (;;) {
    const { items } = await page(events.at(-1)?.seq ?? 0)
    events.push(...items)
    if (items.length === 0 || (events.at(-1)?.seq ?? 0) >= lastSeq) return events
  }
}

const defectsOfRun = async (joined: Joined, run: HubRun): Promise<ReadonlyArray<string>> => {
  const { edge, owner } = joined
  const { state, lastSeq } = await edge.client.run(run.id)
  const here = await allEvents(
    async (after) =>
      (await edge.client.ask("GET", `/v1/runs/${run.id}/events?after=${after}&limit=${PAGE}`))
        .body as EventPage, // checked against the contract
    lastSeq
  )
  const there = await allEvents(
    async (after) =>
      (await owner.ask<EventPage>("GET", `/client/runs/${run.id}/events?after=${after}&limit=${PAGE}`)).body,
    run.lastSeq
  )
  const gap = here.findIndex(({ seq }, at) => seq !== at + 1)
  const resolved = here.flatMap(({ payload, type }) =>
    type === "run.approval.resolved" || type === "run.input.resolved"
      ? [String(payload["approvalId"] ?? payload["inputId"])]
      : []
  )
  return [
    ...(state === run.state ? [] : [`${run.id} is ${state} at the Edge and ${run.state} at the Hub`]),
    ...(gap === -1 ? [] : [`${run.id} has seq ${here[gap]?.seq} at place ${gap + 1}`]),
    ...(JSON.stringify(here) === JSON.stringify(there) ? [] : [`${run.id} has other events at the Hub`]),
    ...(new Set(resolved).size === resolved.length ? [] : [`${run.id} has a request that was resolved twice`])
  ]
}

/** Messages of the session whose first message has the name in it, oldest first. */
const findMessages = async ({ owner }: Joined, name: string): Promise<ReadonlyArray<Message>> => {
  const { items: sessions } = (await owner.ask<Items<SessionItem>>("GET", "/client/sessions?limit=20")).body
  for (const { id } of sessions) {
    const path = `/client/sessions/${id}/messages?limit=200`
    const messages = (await owner.ask<Items<Message>>("GET", path)).body.items.toReversed()
    if (messages[0]?.text.includes(name) === true) return messages
  }
  throw new Error(`no session has a message with ${name}`)
}

export const conversationRecord = async (joined: Joined, name: string): Promise<ConversationRecord> => {
  const { owner } = joined
  const messages = await findMessages(joined, name)
  const sent = messages.filter(({ author, when }) => author.kind === "user" && when !== "now")
  const runIds = sent.flatMap(({ delivery }) => delivery?.runId ?? [])
  const ended = (id: RunId) =>
    until(
      async () => {
        const { body } = await owner.ask<HubRun>("GET", `/client/runs/${id}`)
        return isTerminal(body.state) ? body : undefined
      },
      `the end of ${id}`,
      30_000
    )
  const runs = await Promise.all(runIds.map(ended))
  const defects = await Promise.all(runs.map((run) => defectsOfRun(joined, run)))
  const answers = messages.filter(({ author }) => author.kind === "agent")
  const turns = answers.flatMap(({ runId, turn }) => (turn === undefined ? [] : [`${runId} ${turn}`]))
  const answered = answers.flatMap(({ outcome, runId }) => (outcome === undefined ? [] : [runId]))
  return {
    runs: runs.map(({ state }) => state),
    defects: [
      ...defects.flat(),
      ...sent.flatMap(({ delivery, id }) =>
        delivery?.state === "delivered" ? [] : [`the message ${id} is ${delivery?.state}`]
      ),
      ...(new Set(runIds).size === sent.length ? [] : ["two messages have the same run"]),
      ...(new Set(answered).size === answered.length ? [] : ["a run has two answers"]),
      ...(new Set(turns).size === turns.length ? [] : ["a turn has two texts"])
    ]
  }
}
