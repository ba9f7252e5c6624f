/** `corral chat`, `say`, `approvals` and `show` at a Hub, with the scripted agent on another machine. Chats run in real terminals. */
import { afterAll, afterEach, assert, beforeAll, describe, it } from "@effect/vitest"
import { hasTerminals, type TerminalProgram } from "@corral/testing/process/TerminalProgram"
import { Joined } from "@corral/testing/stack/Joined"
import { until } from "@corral/testing/time/Until"
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Corral } from "./Corral.ts"

const corral = new Corral()
let joined: Joined

beforeAll(async () => {
  joined = await Joined.open()
  const login = corral.start("login", "--hub", joined.front.url)
  const [, userCode] = await login.warned(/shows the code ([A-Z0-9-]+)\n/)
  const browser = await joined.hub.atBrowser("owner")
  await browser.ask("POST", "/client/auth/device/approve", { body: { userCode, decision: "allow" } })
  assert.strictEqual(await login.ended, 0)
})
const unfinished = ["queued", "created", "starting", "running", "waiting_approval"]

// Sessions share a workspace: a run that a test leaves would delay the next ones.
afterEach(() =>
  until(async () => {
    let count = 0
    for (const state of unfinished) {
      const { body } = await joined.owner.ask<{ readonly items: ReadonlyArray<{ readonly id: string }> }>(
        "GET",
        `/client/runs?state=${state}`
      )
      for (const { id } of body.items) await joined.owner.ask("POST", `/client/runs/${id}/cancel`)
      count += body.items.length
    }
    return count === 0 ? true : undefined
  }, "the end of all runs")
)
afterAll(async () => {
  await corral.close()
  await joined.remove()
})

const inWorkspace = (name: string): string => join(joined.edge.workspace, name)

/** A chat that waits for the first message. */
const openChat = async (columns: number, ...flags: ReadonlyArray<string>): Promise<TerminalProgram> => {
  const chat = corral.inTerminal(columns, "chat", "--agent", "scripted", ...flags)
  await chat.shows(/^ready · scripted in ws on laptop/m)
  return chat
}

/** Leaves with Ctrl-C twice. Returns the id of the session. */
const leave = async (chat: TerminalProgram): Promise<string> => {
  chat.type("\u0003\u0003")
  assert.strictEqual(await chat.ended, 0, chat.screen)
  const [, id = ""] = /chat --resume\s+(ses_\w+)/.exec(chat.screen.replaceAll("\n", " ")) ?? []
  return id
}

const question = /^Allow\? y yes/m

/** Number of answers that came too early. */
const early = (screen: string): number =>
  screen.replaceAll("\n", " ").split("typed before the question appeared").length

/** Answers the question. An answer that comes too early has no effect. */
const answer = async (chat: TerminalProgram, line: string, outcome: RegExp): Promise<void> => {
  await chat.shows(question)
  while (!outcome.test(chat.screen)) {
    const count = early(chat.screen)
    chat.enter(line)
    await chat.shows((screen) => outcome.test(screen) || early(screen) > count)
  }
}

describe.skipIf(!hasTerminals)("corral chat", () => {
  it.each([44, 80, 120])("shows answers, wide characters and approvals at %i columns", async (columns) => {
    const chat = await openChat(columns)
    chat.type("你好，世界 ok")
    await chat.shows(/^> 你好，世界 ok$/m)
    assert.strictEqual(chat.cursor.column, "> ".length + 5 * 2 + " ok".length)
    chat.type("\u001b[D\u001b[D\u001b[D\u001b[D")
    await chat.shows(() => chat.cursor.column === "> ".length + 4 * 2)
    chat.type("\u0015\u000b")

    const name = `chat-${columns}.txt`
    chat.enter(`//say # 今天的计划\\`)
    chat.enter("/say 这是一段很长的中文文字，用来检查终端在窄屏幕上如何换行，不应该超过宽度。\\")
    chat.enter(`/write ${name} hello\\`)
    chat.enter("/say done")
    await chat.shows(question)
    assert.match(chat.screen, /^今天的计划$/m)
    assert.include(chat.screen, "approval needed: Write")
    await answer(chat, "y", /^approved by you/m)
    await chat.shows(/^done$/m)
    await chat.shows(/^ready · /m)
    assert.strictEqual(readFileSync(inWorkspace(name), "utf8"), "hello\n")
    assert.deepStrictEqual(chat.wrapped, [], chat.screen)
    const id = await leave(chat)
    assert.match(id, /^ses_/)
    assert.deepStrictEqual(chat.wrapped, [], chat.screen)
  })

  it("stops a turn by its budget, which /budget changes", async () => {
    const chat = await openChat(100, "--budget-turns", "2")
    await chat.shows(/ask · 2 turns$/m)
    chat.enter("//use 1\\")
    chat.enter("/use 1\\")
    chat.enter("/sleep 60000")
    await chat.shows(/The run's turn budget is used up\./)
    chat.enter("/budget turns=9")
    chat.enter("//use 1\\")
    chat.enter("/use 1\\")
    chat.enter("/say within nine")
    await chat.shows(/^within nine$/m)
    await leave(chat)
  })

  it("edits an input, denies with a reason, and never takes a message for an answer", async () => {
    const chat = await openChat(80)
    chat.enter("//shell touch requested.txt\\")
    chat.enter("/write never.txt x\\")
    // Typed before anyone could read the question.
    chat.type("/say end\ry")
    await chat.shows(question)
    chat.type("\r")
    await chat.shows(/typed before the question appeared/)
    assert.isFalse(existsSync(inWorkspace("requested.txt")))
    chat.enter("yes please, but later")
    await chat.shows(/^queued: yes please, but later/m)
    await answer(chat, "e", /^edit> touch requested\.txt$/m)
    chat.type("\u0015")
    chat.enter("touch allowed.txt")
    await chat.shows(/^approved with changes by you/m)
    await chat.shows(/^approval needed: Write never\.txt/m)
    await answer(chat, "n not here", /^denied by you .*: not here/m)
    await chat.shows(/^end$/m)
    // The queued message is the next turn.
    await chat.shows(/^› yes please, but later$/m)
    assert.isTrue(existsSync(inWorkspace("allowed.txt")))
    assert.isFalse(existsSync(inWorkspace("requested.txt")))
    assert.isFalse(existsSync(inWorkspace("never.txt")))
    await leave(chat)
  })

  it("queues messages, sends input to a turn, and stops it with Ctrl-C", async () => {
    const chat = await openChat(80)
    chat.enter("//say waiting\\")
    chat.enter("/wait\\")
    chat.enter("/hang")
    await chat.shows(/^waiting$/m)
    chat.enter("//say second turn")
    await chat.shows(/^queued: \/say second turn$/m)
    chat.enter("!now please")
    await chat.shows(/^» now please$/m)
    await chat.shows(/^now please$/m)
    chat.type("\u0003")
    await chat.shows(/^stopped by /m)
    await chat.shows(/^held: \/say second turn$/m)
    chat.enter("/continue")
    await chat.shows(/^second turn$/m)
    chat.enter("/stpo")
    await chat.shows(/\/stpo is not a command/)
    chat.enter("/diff")
    await chat.shows(/changed no files/)
    chat.enter("/new")
    await chat.shows(/^New conversation\.$/m)
    chat.enter("//say third")
    await chat.shows(/^third$/m)
    assert.strictEqual(statSync(join(corral.home, "chat-history")).mode & 0o777, 0o600)
    await chat.shows(/^ready · /m)
    await leave(chat)
  })

  it("attaches files to a message, and shows their names", async () => {
    const notes = join(corral.home, "..", "notes.md")
    writeFileSync(notes, "# Notes\n")
    const chat = await openChat(80)
    chat.enter("/attach missing.txt")
    await chat.shows(/^Can't read missing\.txt: no such file or directory\.$/m)
    chat.enter(`/attach ${corral.home}`)
    // The path of the home decides where the sentence is wrapped.
    await chat.shows(/is\s+a\s+folder\.\s+Attach\s+its\s+files\s+one\s+by\s+one\./)
    chat.enter(`/attach "${notes}"`)
    await chat.shows(/^1 file: notes\.md$/m)
    chat.enter("/detach other.md")
    await chat.shows(/^The message has no file other\.md\.$/m)
    chat.enter("/detach")
    await chat.shows(/^Removed: notes\.md$/m)
    await chat.shows((screen) => !screen.includes("1 file: "))
    chat.enter(`/attach ${notes}`)
    chat.enter("//say read")
    await chat.shows(/^› \/say read$/m)
    await chat.shows(/^ {2}file notes\.md \(8 bytes\)$/m)
    await chat.shows(/^read$/m)
    await chat.shows(/^ready · /m)
    assert.notInclude(chat.screen, "1 file: ")
    const id = await leave(chat)
    const shown = (await corral.run("show", id)).out.join("\n")
    assert.match(shown, /^\/say read\n {2}file notes\.md \(8 bytes\)$/m)
  })

  it("survives a lost Hub: unsent messages stay in sight and are sent again", async () => {
    const chat = await openChat(80)
    chat.enter("//say before")
    await chat.shows(/^before$/m)
    await joined.hub.end("SIGKILL")
    await chat.shows(/^Connection lost\. Reconnecting\.$/m)
    chat.enter("//say after the Hub returned")
    await chat.shows(/^not sent: \/say after the Hub returned$/m)
    await joined.hub.start()
    joined.found()
    await chat.shows(/^Reconnected\.$/m, 60_000)
    await chat.shows(/^One message was not sent\. \/retry sends again\.$/m)
    chat.enter("/retry")
    await chat.shows(/^after the Hub returned$/m, 60_000)
    await chat.shows(/^ready · /m)
    const id = await leave(chat)

    const next = corral.inTerminal(80, "chat", "--resume", id.slice(0, -4))
    await next.shows(/^after the Hub returned$/m)
    next.enter("//say continued")
    await next.shows(/^continued$/m)
    assert.strictEqual(await leave(next), id)
    const messages = (await corral.run("show", id)).out.join("\n")
    assert.strictEqual(messages.split("/say after the Hub returned").length, 2, messages)
  })

  it("prints a message that was never sent when the user leaves", async () => {
    const chat = await openChat(80)
    chat.enter("//say hello")
    await chat.shows(/^hello$/m)
    await joined.hub.end("SIGKILL")
    await chat.shows(/^Connection lost/m)
    chat.enter("keep this")
    await chat.shows(/^not sent: keep this$/m)
    await leave(chat)
    assert.match(chat.screen, /^Not sent: keep this$/m)
    await joined.hub.start()
    joined.found()
    await joined.online()
  })

  it("points to `corral say` without a terminal", async () => {
    const { exit, out, stderr } = await corral.run("chat")
    assert.deepStrictEqual([exit, out], [2, []])
    assert.strictEqual(stderr, "`corral chat` needs a terminal. Send one message with `corral say`.\n")
  })
})

describe("corral say, approvals and show", () => {
  const runSay = (...args: ReadonlyArray<string>) => corral.run("say", ...args)
  const sessionOf = (stderr: string): string => /^session (ses_\w+)$/m.exec(stderr)?.[1] ?? ""

  it("sends to a new session, waits for the answer, and continues it by the start of its id", async () => {
    const first = await runSay("--new", "--to", "scripted", "--wait", "/say one")
    assert.deepStrictEqual([first.exit, first.out], [0, ["one"]], first.stderr)
    const session = sessionOf(first.stderr)
    const piped = await corral.feed(
      "/say two\n/say three",
      "say",
      "--session",
      session.slice(0, -3),
      "--wait",
      "-"
    )
    assert.deepStrictEqual([piped.exit, piped.out], [0, ["three"]], piped.stderr)

    const failed = await runSay("--session", session, "--wait", "--json", "/fail on purpose")
    assert.strictEqual(failed.exit, 1, failed.stderr)
    const [message, answer] = failed.out.map((line) => JSON.parse(line))
    assert.deepStrictEqual([message.text, answer.outcome], ["/fail on purpose", "failed"])

    const shown = await corral.run("show", session)
    assert.strictEqual(shown.exit, 0, shown.stderr)
    const text = shown.out.join("\n")
    assert.match(text, /^ses_\w+\ntitle +\/say one\nstate +active\n/)
    assert.match(text, /^agent › +scripted in ws, ask/m)
    const [{ runId }] = [answer]
    const run = await corral.run("show", runId)
    assert.match(run.out.join("\n"), /^run_\w+\nstate +failed\nagent +scripted in ws, ask\nsession +ses_/)
  })

  it("sends files, and names the file that it can't send", async () => {
    const folder = join(corral.home, "..")
    const at = (name: string, content: string | Uint8Array): string => {
      writeFileSync(join(folder, name), content)
      return join(folder, name)
    }
    const text = at("a.txt", "a")
    const image = at("image", Buffer.from("\x89PNG\r\n\x1a\n rest", "latin1"))
    const sent = await runSay(
      "--new",
      "--to",
      "scripted",
      "--attach",
      text,
      "--attach",
      image,
      "--json",
      "/say ok"
    )
    assert.strictEqual(sent.exit, 0, sent.stderr)
    const { attachments } = JSON.parse(sent.out[0] ?? "")
    assert.deepStrictEqual(
      attachments.map(({ mediaType, name }: Record<string, unknown>) => [name, mediaType]),
      [
        ["a.txt", "text/plain"],
        ["image", "image/png"]
      ]
    )

    const large = at("large.txt", Buffer.alloc(20 * 1_048_576 + 1, "a"))
    const refusals = [
      [join(folder, "missing"), "Can't read FILE: no such file or directory."],
      [folder, "FILE is a folder. Attach its files one by one."],
      [large, "FILE is larger than 20 MiB."],
      [at("empty.txt", ""), "FILE is empty."],
      [
        at("program", Uint8Array.of(127, 69, 76, 70, 0, 1)),
        "FILE can't be attached. Attach an image (PNG, JPEG, GIF or WebP), a PDF document, or text in UTF-8."
      ]
    ] as const
    for (const [file, message] of refusals) {
      const { exit, out, stderr } = await runSay("--new", "--attach", text, "--attach", file, "x")
      assert.deepStrictEqual([exit, out, stderr], [2, [], `${message.replace("FILE", file)}\n`])
    }
  })

  it("lists what needs a decision, and decides by the start of an id", async () => {
    const started = corral.start(
      "say",
      "--new",
      "--to",
      "scripted",
      "--wait",
      "/write said.txt x\n/say written"
    )
    await started.warned(/needs a decision: Write said\.txt/)
    const { out } = await corral.run("approvals")
    assert.strictEqual(out.length, 1)
    assert.match(out[0] ?? "", /^apr_\w+ {2}\w+ +Write said\.txt {2}scripted in ws {2}run_\w+$/)
    const [id = ""] = /^apr_\w+/.exec(out[0] ?? "") ?? []
    const allowed = await corral.run("approvals", "allow", id.slice(4, -2).toLowerCase())
    assert.deepStrictEqual(allowed, { exit: 0, out: ["approved: Write said.txt"], stderr: "" })
    assert.strictEqual(await started.ended, 0, started.stderr)
    assert.deepStrictEqual(started.out, ["written"])
    assert.deepStrictEqual((await corral.run("approvals")).out, ["Nothing needs a decision."])
  })

  it("lists the candidates of an ambiguous start, and of a missing choice", async () => {
    const refused = async (...args: ReadonlyArray<string>) => {
      const { exit, out, stderr } = await corral.run(...args)
      assert.deepStrictEqual({ exit, out }, { exit: 2, out: [] }, stderr)
      return stderr
    }
    assert.match(await refused("show", "ses_0"), /^More than one id starts with ses_0:\n {2}ses_\w+ {2}/)
    assert.match(await refused("show", "ses_7ZZ"), /^No id starts with ses_7ZZ\.\n$/)
    assert.match(
      await refused("say", "hello"),
      /^Choose a session with --session, or begin one with --new:\n {2}ses_/
    )
    assert.match(await refused("say", " "), /^The message is empty\.\n$/)
    assert.match(await refused("show", "task_1"), /Expected an id like run_01K… or ses_01K…/)
  })

  it("continues a run with --continue and --resume, in its session", async () => {
    const run = ["run", "--project", joined.projectId]
    const first = await corral.run(...run, "--agent", "scripted", "/say first run")
    assert.strictEqual(first.exit, 0, first.stderr)
    const id = /run_\w+/.exec(first.out.join("\n"))?.[0] ?? ""
    const second = await corral.run(...run, "--continue", "/say second run")
    assert.strictEqual(second.exit, 0, second.stderr)
    const [latest] = JSON.parse(`[${(await corral.run("runs", "--json", "--limit", "1")).out.join(",")}]`)
    assert.strictEqual(latest.resume, id)
    const third = await corral.run(...run, "--resume", id.slice(0, -2), "/say third run")
    assert.strictEqual(third.exit, 0, third.stderr)
    const other = await corral.run(...run, "--resume", id, "--agent", "claude-code", "x")
    assert.deepStrictEqual([other.exit, other.out], [2, []])
    assert.include(other.stderr, "A conversation keeps its agent.")
    await until(
      async () => ((await corral.run("approvals")).out.length === 1 ? true : undefined),
      "no approvals"
    )
  })
})
