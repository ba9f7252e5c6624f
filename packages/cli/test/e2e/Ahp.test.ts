/** `corral ahp` as a process, between a client of the protocol and a real Edge or a real Hub with a device elsewhere. */
import type { HubApproval } from "@corral/domain/hub-api/HubRun"
import { AgentHostClient } from "@corral/testing/editor/AgentHostClient"
import { AgentHostSession } from "@corral/testing/editor/AgentHostSession"
import { Joined } from "@corral/testing/stack/Joined"
import { until, within } from "@corral/testing/time/Until"
import { afterAll, assert, beforeAll, describe, it, onTestFinished } from "@effect/vitest"
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Corral } from "./Corral.ts"
import { signIn } from "./SignIn.ts"

interface Listening {
  readonly ready: boolean
  readonly name: string
  readonly folder: string
  readonly port: number
  readonly token: string
}

const listen = async (corral: Corral, ...args: ReadonlyArray<string>) => {
  const program = corral.start("ahp", "--port", "0", ...args)
  const [text] = await program.line(/^\{.*\}$/)
  const listening = JSON.parse(text) as Listening
  return { program, ...listening, url: `http://127.0.0.1:${listening.port}/?tkn=${listening.token}` }
}

const refusal = async (url: string) => {
  const answer = await AgentHostClient.connect(url)
  return answer instanceof AgentHostClient ? "accepted" : [answer.status, JSON.parse(answer.body).code]
}

describe("corral ahp at an Edge", () => {
  const corral = new Corral({ hasLastingRuns: true })
  const folder = mkdtempSync(join(realpathSync(tmpdir()), "corral-ahp-"))
  const up = async () => (await corral.up("--workspace", `site=${folder}`)).edge
  let edge: Awaited<ReturnType<typeof up>>
  beforeAll(async () => {
    edge = await up()
  })
  afterAll(async () => {
    await corral.close()
    rmSync(folder, { recursive: true })
  })

  it("prints where it listens, stores its token for the user alone, and keeps it", async () => {
    const first = await listen(corral, "--workspace", "site")
    assert.deepInclude(first, { ready: true, name: "workspace site of this machine", folder })
    const file = join(corral.home, "ahp.token")
    assert.strictEqual(statSync(file).mode & 0o777, 0o600)
    assert.strictEqual(readFileSync(file, "utf8").trim(), first.token)
    assert.deepStrictEqual(await refusal(`http://127.0.0.1:${first.port}/?tkn=wrong`), [
      403,
      "permission_denied"
    ])
    first.program.child.kill("SIGINT")
    assert.strictEqual(await first.program.ended, 130)
    const second = await listen(corral, "--workspace", "site")
    assert.strictEqual(second.token, first.token)
  })

  it("carries a session with an approval, and finds an Edge that was killed and started again", async () => {
    const { url } = await listen(corral, "--workspace", "site")
    const client = await AgentHostClient.open(url)
    const session = await AgentHostSession.create(client, "scripted", folder)
    const turn = await session.prompt("/say before\n/write ahp.txt hello\n/say after")
    const call = await session.confirmation(turn)
    const approvals = await corral.run("approvals", "--json")
    assert.lengthOf(approvals.out, 1)
    edge.child.kill("SIGKILL")
    await within(client.closed, 10_000, "the end of the connection")
    assert.deepStrictEqual(await refusal(url), [503, "overloaded"])
    edge = await up()
    const next = await AgentHostClient.open(url)
    const again = await AgentHostSession.open(next, session.resource)
    await again.confirm({ ...call, turnId: String(Object(again.chatState["activeTurn"]).id) }, "approve")
    await until(async () => {
      const { out } = await corral.run("runs", "--json")
      return JSON.parse(out[0] ?? "{}").state === "completed" || undefined
    }, "the completed run")
    assert.strictEqual(readFileSync(join(folder, "ahp.txt"), "utf8").trim(), "hello")
    next.drop()
  })

  it("prints in a terminal which folder to open, wherever it was started", async () => {
    const terminal = corral.inTerminal(200, "ahp", "--workspace", "site", "--port", "0")
    await terminal.shows((screen) => screen.includes(`Open this folder in the editor: ${folder}`))
    terminal.kill()
    await terminal.ended
  })

  it("ends a prompt in another folder with the folder to open", async () => {
    const { url } = await listen(corral, "--workspace", "site")
    const client = await AgentHostClient.open(url)
    const session = await AgentHostSession.create(client, "scripted", process.cwd())
    const turn = await session.prompt("/say here")
    assert.strictEqual(await session.ended(turn), "chat/error")
    const { action } = await client.action("chat/error")
    assert.include(JSON.stringify(action["part"]), `Open ${folder} in the editor.`)
    client.drop()
  })

  it("says what is wrong before it listens", async () => {
    const both = await corral.run("ahp", "--edge", "--hub", "http://127.0.0.1:1")
    assert.strictEqual(both.exit, 2)
    assert.match(both.stderr, /Use one or the other\./)
    const unnamed = await corral.run("ahp", "--workspace", "nowhere")
    assert.strictEqual(unnamed.exit, 2)
    assert.match(
      unnamed.stderr,
      /There is no workspace nowhere\. Available: site\. To add one, start Corral with/
    )
    const { port } = await listen(corral, "--workspace", "site")
    const taken = await corral.run("ahp", "--workspace", "site", "--port", String(port))
    assert.strictEqual(taken.exit, 1)
    assert.match(taken.stderr, new RegExp(`^Port ${port} is in use`))
  })
})

describe("corral ahp at a Hub", () => {
  const corral = new Corral()
  let joined: Joined
  beforeAll(async () => {
    joined = await Joined.open()
    await signIn(corral, joined)
  })
  afterAll(async () => {
    await corral.close()
    await joined.remove()
  })

  it("carries the sign-in of the terminal, decides as an editor on another device, and ends with the sign-in", async () => {
    const { program, url, ...shown } = await listen(corral, "--hub", joined.front.url, "--workspace", "ws")
    assert.deepInclude(shown, { name: "workspace ws on laptop", folder: process.cwd() })
    const client = await AgentHostClient.open(url)
    const session = await AgentHostSession.create(client, "scripted", process.cwd())
    const changes = `${session.resource}/changeset/session`
    assert.deepInclude(await client.subscribe(changes), { status: "ready", files: [] })
    const turn = await session.prompt("/write from-editor.txt hello\n/say written")
    await session.confirm(await session.confirmation(turn), "approve")
    assert.strictEqual(await session.ended(turn), "chat/turnComplete")
    assert.isTrue(existsSync(join(joined.edge.workspace, "from-editor.txt")))
    const changed = await client.action("changeset/contentChanged")
    assert.strictEqual(changed.channel, changes)
    assert.include(JSON.stringify(changed.action["files"]), "from-editor.txt")
    const { body } = await joined.owner.ask<{ readonly items: ReadonlyArray<HubApproval> }>(
      "GET",
      `/client/approvals?projectId=${joined.projectId}`
    )
    const [approval] = body.items
    assert.deepStrictEqual(
      [approval?.state, approval?.origin, approval?.decidedBy],
      ["approved", "editor", joined.owner.userId]
    )
    const atEdge = await corral.run("ahp")
    assert.strictEqual(atEdge.exit, 2)
    assert.match(
      atEdge.stderr,
      new RegExp(
        `^No Edge is running on this machine\\. Start one with \`node .+ up\`\\. For the agents of a project at ${joined.front.url}: \`node .+ ahp --project NAME\`\\.\n$`
      )
    )
    const { exit } = await corral.run("logout")
    assert.strictEqual(exit, 0)
    const { code } = await within(client.closed, 10_000, "the end of the connection")
    assert.strictEqual(code, 4403)
    assert.deepStrictEqual(await refusal(url), [503, "overloaded"])
    await program.warned(/You are not signed in to .+\. Sign in with `node .+ login --hub /)
    await signIn(corral, joined)
    assert.strictEqual(await refusal(url), "accepted")
    await program.warned(/An editor is connected\./)
  })

  it("lets a viewer list and follow sessions, and refuses a prompt with the reason", async () => {
    const member = await AgentHostClient.open(
      (await listen(corral, "--hub", joined.front.url, "--workspace", "ws")).url
    )
    const shared = await AgentHostSession.create(member, "scripted", process.cwd())
    await shared.ended(await shared.prompt("/say for everyone"))
    const { userId } = await joined.hub.signedIn("viewer")
    const added = await joined.owner.ask("POST", `/client/projects/${joined.projectId}/members`, {
      body: { userId, role: "viewer" }
    })
    assert.strictEqual(added.status, 201, added.text)
    const reader = new Corral()
    onTestFinished(() => reader.close())
    await signIn(reader, joined, joined.front.url, "viewer")
    const atHub = ["--hub", joined.front.url, "--workspace", "ws"]
    const { name, url } = await listen(reader, ...atHub)
    assert.match(name, /^workspace ws of the project .+, to read$/)
    const viewer = await AgentHostClient.open(url)
    const { items } = await viewer.call("listSessions")
    assert.include(JSON.stringify(items), shared.resource)
    const seen = await AgentHostSession.open(viewer, shared.resource)
    assert.include(JSON.stringify(seen.chatState["turns"]), "for everyone")
    const mine = await AgentHostSession.create(viewer, "scripted", process.cwd())
    assert.strictEqual(await mine.ended(await mine.prompt("/say mine")), "chat/error")
    const named = await reader.run("ahp", ...atHub, "--target", "laptop")
    assert.deepStrictEqual(named.exit, 2)
    assert.match(
      named.stderr,
      /^A viewer does not see the devices of the project .+\. Leave out `--target`\.\n$/
    )
    const unknown = await corral.run("ahp", ...atHub, "--target", "desk")
    assert.deepStrictEqual(
      [unknown.exit, unknown.stderr],
      [2, "No device desk has a workspace of the project. Available: laptop.\n"]
    )
    viewer.drop()
    member.drop()
  })
})
