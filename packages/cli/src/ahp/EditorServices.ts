/**
 * Services of the listener: one workspace of the Edge of this machine, or one of a Hub. The workspace is chosen once, like that of `corral acp`. The
 * address and the sign-in are read for each connection.
 */
import { parseFile, ROOT } from "@corral/agent-host/protocol/Addresses"
import { PROTOCOL_VERSIONS } from "@corral/agent-host/protocol/Messages"
import { Effect, Option, Redacted, Schema } from "effect"
import { randomUUID } from "node:crypto"
import { WebSocket } from "ws"
import type { CommandFailed } from "../CommandFailed.ts"
import { placeInEdge } from "../acp/EdgeSessions.ts"
import { linkedPlace } from "../acp/HubSessions.ts"
import type { PlaceFlags } from "../chat/HubPlace.ts"
import { connectToEdge } from "../edge/EdgeClient.ts"
import { locateEdge } from "../edge/EdgeLocation.ts"
import type { EdgeChoice, RunServerChoice } from "../Flags.ts"
import { connectToSignedInHub, requireSignIn } from "../hub/HubClient.ts"
import type { EditorService } from "./EditorListener.ts"

/** A service, and how the terminal names it. */
export interface ChosenService {
  readonly name: string
  /** Folder that the editor opens for the workspace. `undefined` if the Edge does not say. */
  readonly folder: string | undefined
  readonly connection: Effect.Effect<EditorService, CommandFailed>
}

const socketUrl = (url: string): string => url.replace(/^http/, "ws")

const bearer = (token: Redacted.Redacted): string => `Bearer ${Redacted.value(token)}`

/** What is read of the answers to requests that are named by their ids. */
const Answer = Schema.Union([
  Schema.Struct({
    id: Schema.Literal("initialize"),
    result: Schema.Struct({
      snapshots: Schema.Array(
        Schema.Struct({
          state: Schema.Struct({ agents: Schema.Array(Schema.Struct({ provider: Schema.String })) })
        })
      )
    })
  }),
  Schema.Struct({ id: Schema.Literal("createSession"), result: Schema.Null }),
  Schema.Struct({
    id: Schema.Literal("subscribe"),
    result: Schema.Struct({
      snapshot: Schema.Struct({
        state: Schema.Struct({ workingDirectories: Schema.Array(Schema.String) })
      })
    })
  }),
  Schema.Struct({ id: Schema.String, error: Schema.Struct({ code: Schema.Int }) })
])
const decodeAnswer = Schema.decodeUnknownOption(Schema.fromJsonString(Answer))

/**
 * Folder of the only workspace of a connection to an Edge, as editors receive it: that of a session without a message, which exists for this connection
 * only. The API of the Edge has no absolute paths. `undefined` if the Edge does not say, such as without an agent.
 */
const folderAt = ({ authorization, url }: EditorService): Effect.Effect<string | undefined> =>
  Effect.callback<string | undefined>((resume) => {
    const socket = new WebSocket(url, { headers: { authorization }, perMessageDeflate: false })
    const done = (folder?: string): void => {
      socket.terminate()
      resume(Effect.succeed(folder))
    }
    const request = (method: string, params: Readonly<Record<string, unknown>>): void =>
      socket.send(JSON.stringify({ jsonrpc: "2.0", id: method, method, params }))
    let session = ""
    socket.once("open", () =>
      request("initialize", {
        channel: ROOT,
        clientId: "corral-ahp",
        protocolVersions: PROTOCOL_VERSIONS,
        initialSubscriptions: [ROOT]
      })
    )
    socket.on("message", (data) => {
      const answer = Option.getOrUndefined(decodeAnswer(String(data)))
      // Other messages are actions.
      if (answer === undefined) return
      if ("error" in answer) return done()
      if (answer.id === "initialize") {
        const provider = answer.result.snapshots[0]?.state.agents[0]?.provider
        if (provider === undefined) return done()
        session = `${provider}:/${randomUUID()}`
        return request("createSession", { channel: session })
      }
      if (answer.id === "createSession") return request("subscribe", { channel: session })
      done(parseFile(answer.result.snapshot.state.workingDirectories[0] ?? ""))
    })
    socket.on("error", () => done())
    socket.once("close", () => done())
    return Effect.sync(() => socket.terminate())
  }).pipe(
    Effect.timeoutOption("15 seconds"),
    Effect.map((found) => Option.getOrUndefined(found))
  )

export const edgeService = Effect.fn("EditorServices.edge")(function* (
  choice: EdgeChoice,
  flags: PlaceFlags,
  folder: string
) {
  const services = yield* Effect.context<Effect.Services<ReturnType<typeof locateEdge>>>()
  const calls = yield* Effect.flatMap(locateEdge(choice), connectToEdge)
  const { workspace } = yield* placeInEdge(calls, folder, flags.workspace)
  const connection = Effect.map(locateEdge(choice), ({ token, url }): EditorService => ({
    name: `the Edge at ${url}`,
    url: `${socketUrl(url)}/ahp/${encodeURIComponent(workspace.id)}`,
    authorization: bearer(token)
  }))
  return {
    name: `workspace ${workspace.id} of this machine`,
    folder: yield* Effect.flatMap(connection, folderAt),
    connection: Effect.provideContext(connection, services)
  } satisfies ChosenService
})

export const hubService = Effect.fn("EditorServices.hub")(function* (
  choice: RunServerChoice,
  flags: PlaceFlags,
  cwd: string
) {
  const services = yield* Effect.context<Effect.Services<ReturnType<typeof requireSignIn>>>()
  const { calls } = yield* connectToSignedInHub(choice.hub)
  const { folder, project, workspace } = yield* linkedPlace(calls, flags, cwd)
  const query = new URLSearchParams({
    projectId: project.id,
    targetId: workspace.targetId,
    workspace: workspace.id,
    folder
  })
  const connection = Effect.map(requireSignIn(choice.hub), ({ hub, token }): EditorService => ({
    name: `the Hub at ${hub}`,
    url: `${socketUrl(hub)}/client/ahp?${query.toString()}`,
    authorization: bearer(token)
  }))
  return {
    name:
      workspace.target === undefined
        ? `workspace ${workspace.id} of the project ${project.name}, to read`
        : `workspace ${workspace.id} on ${workspace.target.name}`,
    folder,
    connection: Effect.provideContext(connection, services)
  } satisfies ChosenService
})
