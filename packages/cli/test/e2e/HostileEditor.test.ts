/** An editor that opens sessions without end: one answer for each, in bounded memory of `corral acp` and of the Edge, which serves the others. */
import { type EdgeProcess, openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { residentMemory } from "@corral/testing/process/ProcessCosts"
import { until } from "@corral/testing/time/Until"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { program } from "./Corral.ts"

const SESSIONS = 1_000
const MAX_OPEN = 64
const AT_A_TIME = 50
const MB = 1_000_000
/** A process that keeps 100 KB of each closed session ends with this heap. */
const HEAP = "--max-old-space-size=128"
/** Measured on 2 cores: up to 140 and 180 MB in `corral acp`, and 53 MB in the Edge. */
const MOST_GROWTH = { editor: 256 * MB, edge: 128 * MB }

interface Answer {
  readonly id: unknown
  readonly result?: { readonly sessionId?: string; readonly stopReason?: string }
  readonly error?: { readonly code: number; readonly message: string }
}

/** `corral acp` at the Edge, for an editor that writes what it wants. */
const rawEditor = async (edge: EdgeProcess) => {
  const child = spawn(process.execPath, [program, "acp", "--workspace", "ws", "--agent", "scripted"], {
    env: { PATH: "/usr/bin:/bin", HOME: edge.folder, CORRAL_HOME: edge.home, NODE_OPTIONS: HEAP },
    stdio: ["pipe", "pipe", "ignore"]
  })
  onTestFinished(() => void child.kill("SIGKILL"))
  const answers: Array<Answer> = []
  createInterface({ input: child.stdout }).on("line", (line) => {
    const message: Answer & { readonly method?: string } = JSON.parse(line)
    if (message.method === undefined) answers.push(message)
  })
  let lastId = 0
  const lineOf = (id: number, method: string, params: object): string =>
    `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`
  const answersTo = (ids: ReadonlyArray<number>): ReadonlyArray<Answer> => {
    const wanted = new Set<unknown>(ids)
    return answers.filter(({ id }) => wanted.has(id))
  }
  /** Sends the requests in one piece. Returns their answers. */
  const request = async (
    requests: ReadonlyArray<readonly [method: string, params: object]>
  ): Promise<ReadonlyArray<Answer>> => {
    const ids = requests.map(() => ++lastId)
    child.stdin.write(requests.map((each, at) => lineOf(ids[at] ?? 0, ...each)).join(""))
    return until(
      async () => {
        const found = answersTo(ids)
        return found.length >= ids.length ? found : undefined
      },
      `${ids.length} answers`,
      60_000
    )
  }
  await request([["initialize", { protocolVersion: 1 }]])
  const prompt = async (sessionId: string | undefined, text: string): Promise<string | undefined> => {
    const [answer] = await request([["session/prompt", { sessionId, prompt: [{ type: "text", text }] }]])
    return answer?.result?.stopReason
  }
  const end = async (): Promise<number | null> => {
    child.stdin.end()
    if (child.exitCode === null) await once(child, "exit")
    return child.exitCode
  }
  return { answers, end, memory: () => residentMemory(child.pid), prompt, request }
}

const newSession = ["session/new", { cwd: "/home/person/code", mcpServers: [] }] as const

/** An editor with one session and a turn behind it, and the memory at that time. */
const openWarm = async () => {
  const edge = await openEdgeProcess()
  const editor = await rawEditor(edge)
  const [first] = await editor.request([newSession])
  const sessionId = first?.result?.sessionId
  assert.strictEqual(await editor.prompt(sessionId, "/say warm"), "end_turn")
  const before = { editor: editor.memory(), edge: edge.memory }
  const checkMemory = (what: string): void => {
    const grown = { editor: editor.memory() - before.editor, edge: edge.memory - before.edge }
    console.log(JSON.stringify({ what, editorMb: grown.editor / MB, edgeMb: grown.edge / MB }))
    assert.isAtMost(grown.editor, MOST_GROWTH.editor, "corral acp")
    assert.isAtMost(grown.edge, MOST_GROWTH.edge, "the Edge")
  }
  return { checkMemory, edge, editor, sessionId }
}

const served = async ({ client }: EdgeProcess): Promise<void> => {
  const run = await client.create("/say served")
  const { body, status } = await client.result(run.id, 30_000)
  assert.strictEqual(status, 200, JSON.stringify(body))
}

describe.skipIf(process.platform !== "linux")("A hostile editor", () => {
  it("opens up to 64 of 1,000 sessions, and receives one error for each of the others", async () => {
    const { checkMemory, edge, editor, sessionId } = await openWarm()
    const before = editor.answers.length
    const [answers] = await Promise.all([
      editor.request(Array.from({ length: SESSIONS }, () => newSession)),
      served(edge)
    ])
    assert.strictEqual(new Set(answers.map(({ id }) => id)).size, SESSIONS)
    const opened = answers.filter(({ result }) => result !== undefined)
    const refusals = answers.flatMap(({ error }) => (error === undefined ? [] : [error.message]))
    // One was open before.
    assert.deepStrictEqual([opened.length, refusals.length], [MAX_OPEN - 1, SESSIONS - MAX_OPEN + 1])
    for (const message of refusals)
      assert.match(message, /^(Internal error: )?Up to (64 sessions|256 requests) can be open at a time\./)
    // What is open works, and what is refused can be opened again after a close.
    assert.strictEqual(await editor.prompt(sessionId, "/say still"), "end_turn")
    const last = opened.at(-1)?.result?.sessionId
    await editor.request([["session/close", { sessionId: last }]])
    assert.isDefined((await editor.request([newSession]))[0]?.result)
    checkMemory(`${SESSIONS} sessions at a time`)
    assert.strictEqual(editor.answers.length, before + SESSIONS + 3)
    await served(edge)
    assert.strictEqual(await editor.end(), 0)
  })

  it("opens and closes 1,000 sessions, and leaves nothing of them", async () => {
    const { checkMemory, edge, editor, sessionId } = await openWarm()
    const meanwhile = served(edge)
    for (let done = 0; done < SESSIONS; done += AT_A_TIME) {
      const opened = await editor.request(Array.from({ length: AT_A_TIME }, () => newSession))
      const closed = await editor.request(
        opened.map(({ result }) => ["session/close", { sessionId: result?.sessionId }] as const)
      )
      assert.isTrue(
        closed.every(({ result }) => result !== undefined),
        JSON.stringify(closed)
      )
    }
    await meanwhile
    checkMemory(`${SESSIONS} sessions one after another`)
    assert.strictEqual(await editor.prompt(sessionId, "/say still"), "end_turn")
    assert.strictEqual(await editor.end(), 0)
  })
})
