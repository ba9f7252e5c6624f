/** Editors in a race: one of the Agent Client Protocol, and one of the Agent Host Protocol. */
import { sessionAddress } from "@corral/agent-host/protocol/Addresses"
import type { ChatAction } from "@corral/agent-host/protocol/Actions"
import type { ResponsePart } from "@corral/agent-host/protocol/State"
import type { SessionId } from "@corral/domain/identity/Ids"
import { AgentHostClient } from "@corral/testing/editor/AgentHostClient"
import type { Joined } from "@corral/testing/stack/Joined"
import { until } from "@corral/testing/time/Until"
import { assert } from "@effect/vitest"
import { choose, type TestEditor } from "../acp/TestEditor.ts"
import type { RacerNames, RacingEditor, ShownResolution } from "./EditorRaces.ts"
import { FoldedChat, textsOf } from "./FoldedChat.ts"

const TITLE = "An approval without an effect"

/** An editor of the Agent Client Protocol, of the user who has sent the message. */
export const clientProtocolEditor = (editor: TestEditor): RacingEditor => ({
  open: (session) => editor.load(session),
  approval: async (number) => {
    const dialog = await editor.permission(number)
    return () => choose(dialog, "allow_once")
  },
  names: async (number, { place, state }) => {
    const named = await until(
      async () => editor.text.split(`${TITLE}: `)[number + 1],
      "the line of the decision"
    )
    const line = `${state} by you in ${place}`
    assert.isTrue(named.startsWith(line), `${line}, but ${named}`)
  },
  close: () => editor.close()
})

/** Lines of resolutions in a chat. */
const LINES = /^\*((?:Allowed once|Denied|Answered) by .*)\*$/gm
const verbs: Readonly<Record<string, string>> = {
  approved: "Allowed once",
  denied: "Denied",
  answered: "Answered"
}

/** An editor of the Agent Host Protocol. */
export class HostProtocolEditor implements RacingEditor {
  private readonly client: AgentHostClient
  private folded = 0
  private current: FoldedChat | undefined
  /** Resolutions in the sessions before. */
  private earlier = 0

  constructor(client: AgentHostClient) {
    this.client = client
  }

  readonly open = async (session: SessionId): Promise<void> => {
    this.earlier += this.current === undefined ? 0 : this.lines.length
    this.client.actions.length = 0
    const resource = sessionAddress("scripted", session)
    // An Edge has the session with its run.
    await until(
      async () => (await this.client.request("subscribe", {}, resource)).error === undefined || undefined,
      "the session"
    )
    const { state } = await this.client.snapshot(resource)
    const snapshot = await this.client.snapshot(String(state["defaultChat"]))
    this.current = new FoldedChat(snapshot)
    this.folded = 0
  }

  readonly approval = async (number: number): Promise<() => unknown> => {
    let option = ""
    const { id: toolCallId, turn: turnId } = await this.waiting(number, (part) => {
      if (part.kind !== "toolCall" || part.toolCall.status !== "pending-confirmation") return undefined
      option = part.toolCall.options?.find(({ kind }) => kind === "approve")?.id ?? ""
      return part.toolCall.toolCallId
    })
    return () =>
      this.perform({
        type: "chat/toolCallConfirmed",
        turnId,
        toolCallId,
        approved: true,
        confirmed: "user-action",
        selectedOptionId: option
      })
  }

  readonly question = async (number: number, label: string): Promise<() => unknown> => {
    let option = ""
    let question = ""
    const { id } = await this.waiting(number, (part) => {
      if (part.kind !== "inputRequest" || part.response !== undefined) return undefined
      const [first] = part.request.questions ?? []
      question = first?.id ?? ""
      const options = first?.kind === "single-select" ? first.options : []
      option = options.find((each) => each.label === label)?.id ?? ""
      return part.request.id
    })
    return () =>
      this.perform({
        type: "chat/inputCompleted",
        requestId: id,
        response: "accept",
        answers: { [question]: { state: "submitted", value: { kind: "selected", value: option } } }
      })
  }

  readonly names = async (number: number, { by, place, state }: ShownResolution): Promise<void> => {
    const line = await until(async () => this.lines[number - this.earlier], "the line of the resolution")
    const expected = `${verbs[state]} by ${by} in ${place}: `
    assert.isTrue(line.startsWith(expected), `${expected}, but ${line}`)
  }

  readonly close = (): void => this.client.drop()

  private get chat(): FoldedChat {
    const { current } = this
    assert.isDefined(current)
    const { actions } = this.client
    for (; this.folded < actions.length; this.folded++) {
      const action = actions[this.folded]
      if (action !== undefined && action.serverSeq > current.seq) current.apply(action)
    }
    return current
  }

  private get lines(): ReadonlyArray<string> {
    return [...textsOf(this.chat.state).join("\n").matchAll(LINES)].map(([, line = ""]) =>
      line.replaceAll(/\\(.)/g, "$1")
    )
  }

  /** The request after those that are resolved. */
  private waiting(
    number: number,
    idOf: (part: ResponsePart) => string | undefined
  ): Promise<{ readonly id: string; readonly turn: string }> {
    return until(async () => {
      const { state } = this.chat
      if (this.lines.length < number - this.earlier || state.activeTurn === undefined) return undefined
      const { id: turn, responseParts } = state.activeTurn
      const id = responseParts.flatMap((part) => idOf(part) ?? []).at(-1)
      return id === undefined ? undefined : { id, turn }
    }, "a request")
  }

  /** Sends an action, and waits for its echo. */
  private perform(action: ChatAction): Promise<unknown> {
    return this.client.perform(this.chat.address, { ...action })
  }
}

/** The editor, and a window at the Edge that shows the same: an Edge has ids of the users of its Hub, and no names. */
const withWindowAtEdge = (editor: RacingEditor, window: RacingEditor): RacingEditor => ({
  ...editor,
  open: (session) => Promise.all([editor.open(session), window.open(session)]),
  names: async (number, shown) => {
    await editor.names(number, shown)
    await window.names(number, { ...shown, by: shown.userId })
  },
  close: () => [editor.close(), window.close()]
})

/** A different user in each client. */
export const team: RacerNames = { editor: "edith", console: "connie", terminal: "terry", chat: "owner" }

/**
 * An editor of the Agent Host Protocol at the Hub, of the team's user, and a window of the device's owner at the Edge. Makes the team members of the
 * project.
 */
export const openHostEditor = async (joined: Joined): Promise<RacingEditor> => {
  const { deviceId, edge, hub, owner, projectId } = joined
  for (const name of [team.editor, team.console, team.terminal]) {
    const { userId } = await hub.signedIn(name)
    const added = await owner.ask("POST", `/client/projects/${projectId}/members`, {
      body: { userId, role: "member" }
    })
    assert.strictEqual(added.status, 201, added.text)
  }
  const { token } = await hub.signedIn(team.editor)
  const query = new URLSearchParams({
    projectId,
    targetId: deviceId,
    workspace: "ws",
    folder: "/home/person/site"
  })
  const headers = { authorization: `Bearer ${token}` }
  const atHub = await AgentHostClient.open(`${hub.url}/client/ahp?${query.toString()}`, { headers })
  const atEdge = await AgentHostClient.open(`${edge.url}/ahp/ws?tkn=${edge.token}`)
  return withWindowAtEdge(new HostProtocolEditor(atHub), new HostProtocolEditor(atEdge))
}
