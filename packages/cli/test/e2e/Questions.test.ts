/** Questions, plans and background work at the terminal, with a real Edge: asked inline, and answered from another terminal. */
import { hasTerminals } from "@corral/testing/process/TerminalProgram"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { until } from "@corral/testing/time/Until"
import { Corral } from "./Corral.ts"

const corral = new Corral()
beforeAll(async () => {
  await corral.up()
})
afterAll(() => corral.close())

const start = (prompt: string, ...flags: ReadonlyArray<string>) =>
  corral.start("run", "--agent", "scripted", "--workspace", "sample", ...flags, prompt)
const inTerminal = (prompt: string, ...flags: ReadonlyArray<string>) =>
  corral.inTerminal(100, "run", "--agent", "scripted", "--workspace", "sample", ...flags, prompt)

const questionOf = async (run: ReturnType<typeof start>): Promise<string> => {
  const [, id = ""] = await run.line(/answer (inq_\w+)/)
  return id
}

const runs = async () => (await corral.run("runs", "--json")).out.map((line) => JSON.parse(line))

/** First line of the refusal of a command. */
const refusal = async (...args: ReadonlyArray<string>): Promise<string> => {
  const { exit, out, stderr } = await corral.run(...args)
  assert.deepStrictEqual({ exit, out }, { exit: 2, out: [] }, stderr)
  return stderr.split("\n")[0] ?? ""
}

describe("a question of a run without a terminal", () => {
  it("waits in every mode, also with --yes, and is answered from another terminal", async () => {
    const run = start("/question Which colour? | Red | Blue", "--yes", "--mode", "auto_edit")
    const id = await questionOf(run)
    const { out } = await corral.run("questions")
    assert.match(
      out.join("\n"),
      new RegExp(`^${id} +question +Which colour\\? +scripted in sample +run_`, "m")
    )
    const answered = await corral.run("answer", id, "--option", "2")
    assert.deepStrictEqual(answered, { exit: 0, out: ["answered by local in a terminal: Blue"], stderr: "" })
    assert.strictEqual(await run.ended, 0)
    assert.include(run.out.join("\n"), "answered by local in a terminal: Blue")
    assert.deepStrictEqual((await corral.run("questions")).out, ["No question is open."])
  })

  it("refuses a wrong answer with one reason", async () => {
    const run = start("/question Which colour? | Red | Blue")
    const id = await questionOf(run)
    assert.strictEqual(await refusal("answer", id, "--option", "9"), "1: There is no such option.")
    assert.match(await refusal("answer", id, "--value", "size=1"), /^There is no such question\./)
    assert.match(await refusal("answer", id, "--approve"), /^Only a plan can be approved/)
    assert.match(await refusal("answer", id), /^Name an answer\. Ways to answer: --option 1/)
    assert.match(await refusal("answer", id, "--text", "x".repeat(65_537)), /^The answer is too long/)
    assert.match(
      await refusal("answer", "inq_01K00000000000000000000000", "--option", "1"),
      /^Question inq_\w+ was not found/
    )
    assert.strictEqual((await corral.run("answer", id, "--decline", "--comment", "Your choice")).exit, 0)
    assert.match(
      await refusal("answer", id, "--option", "1"),
      /^This question is no longer open: declined by local\./
    )
    assert.strictEqual(await run.ended, 0)
  })

  it("is closed by the end of its run", async () => {
    const run = start("/question Which colour? | Red")
    const id = await questionOf(run)
    const [listed] = (await corral.run("questions", "--json")).out.map((line) => JSON.parse(line))
    await corral.run("cancel", listed.runId)
    assert.strictEqual(await run.ended, 130)
    assert.match(
      await refusal("answer", id, "--option", "1"),
      /^This question is no longer open: cancelled\./
    )
  })

  it("takes a secret from stdin", async () => {
    const run = start("/secret Token?")
    const id = await questionOf(run)
    const { exit, out } = await corral.feed("s3cr3t-value\n", "answer", id, "--text", "-")
    assert.strictEqual(exit, 0)
    assert.notInclude(out.join("\n"), "s3cr3t-value")
    assert.strictEqual(await run.ended, 0)
    assert.notInclude(run.out.join("\n"), "s3cr3t-value")
    assert.strictEqual(readFileSync(join(corral.home, "sample", "secret.txt"), "utf8").trim(), "s3cr3t-value")
  })
})

describe.skipIf(!hasTerminals)("a question of a run in a terminal", () => {
  it("is asked with numbers, several options and a text", async () => {
    const run = inTerminal("/question Which tools? | ?Lint | Test | Build")
    await run.shows(/^question: Which tools\? \(one or more\)$/m)
    await run.shows(/Numbers from 1 to 4, as 1,2 · \/skip: $/m)
    run.enter("9")
    await run.shows(/There is no such option\./)
    run.enter("1,4")
    await run.shows(/Write your answer · \/skip: $/m)
    run.enter("and docs")
    assert.strictEqual(await run.ended, 0, run.screen)
    assert.match(run.screen, /answered by local in a terminal: Lint, and docs/)
  })

  it("does not show a secret while it is typed, and asks the next question after it", async () => {
    const run = inTerminal("/secret Token?\n/question Sure? | Yes | No")
    await run.shows(/Secret, not shown · \/skip: $/m)
    run.enter("hidden-word")
    await run.shows(/Number from 1 to 3 · \/skip: $/m)
    run.enter("1")
    assert.strictEqual(await run.ended, 0, run.screen)
    assert.notInclude(run.raw, "hidden-word", run.raw)
    assert.strictEqual(readFileSync(join(corral.home, "sample", "secret.txt"), "utf8").trim(), "hidden-word")
  })

  it("cancels the run with Ctrl-C while a secret is typed", async () => {
    const run = inTerminal("/secret Token?")
    await run.shows(/Secret, not shown/)
    run.type("half\u0003")
    assert.strictEqual(await run.ended, 130, run.screen)
  })

  it("disappears when it is answered elsewhere", async () => {
    const run = inTerminal("/question Which colour? | Red | Blue")
    await run.shows(/Number from 1 to 3 · \/skip: $/m)
    const [listed] = (await corral.run("questions", "--json")).out.map((line) => JSON.parse(line))
    await corral.run("answer", listed.id, "--option", "Red")
    assert.strictEqual(await run.ended, 0, run.screen)
    assert.match(run.screen, /^answered by local in a terminal: Red/m)
  })
})

describe("a plan", () => {
  it("is carried out once by the next run, in the chosen mode", async () => {
    const limits = ["--budget-turns", "9", "--timeout", "500", "--background", "10m", "--input-ttl", "2h"]
    const run = start("/plan 1. Read\\n2. Write", "--mode", "plan", ...limits)
    const id = await questionOf(run)
    assert.match(await refusal("answer", id, "--text", "yes"), /^This is a plan\./)
    assert.match(
      await refusal("answer", id, "--approve", "--mode", "full_access"),
      / mode: The agent can't carry out the plan in the mode full_access here\. Choose one of: .*auto_edit/
    )
    const { out } = await corral.run("answer", id, "--approve", "--mode", "auto_edit")
    assert.strictEqual(out[0], "plan approved, to work in auto_edit by local in a terminal")
    assert.strictEqual(await run.ended, 0)
    const [next, planned] = await runs()
    const limited = { budget: { turns: 9 }, timeoutMs: 500_000, backgroundMs: 600_000, inputTtlMs: 7_200_000 }
    for (const each of [next, planned]) assert.deepInclude(each, limited)
    assert.strictEqual(out[1], `carried out by ${next.id}`)
    assert.deepStrictEqual(
      [next.resume, next.mode, next.input.text],
      [planned.id, "auto_edit", "The plan was approved. Carry it out."]
    )
  })

  it("is sent back with a comment, and the run continues", async () => {
    const run = start("/plan 1. Read\n/say after", "--mode", "plan")
    const id = await questionOf(run)
    const { out } = await corral.run("answer", id, "--return", "--comment", "Test it first")
    assert.deepStrictEqual(out, ["plan sent back by local in a terminal: Test it first"])
    assert.strictEqual(await run.ended, 0)
    assert.include(run.out.join("\n"), "Test it first")
  })

  it.skipIf(!hasTerminals)("is approved inline, and the same command follows the work", async () => {
    const before = (await runs()).length
    const run = inTerminal("/plan 1. Read", "--mode", "plan")
    await run.shows(/Approve the plan\? y \[MODE\]/)
    run.enter("y")
    await run.shows(/plan approved, to work in ask/)
    // The default script of the next run ends with an approval.
    await run.shows(/Allow\? \[y\]es/)
    run.enter("n")
    assert.strictEqual(await run.ended, 0, run.screen)
    assert.lengthOf(await runs(), before + 2)
  })
})

describe("work in the background", () => {
  const background = "/work dev command npm run dev\n/say started\n/end-turn\n/hang"

  it("is counted with its titles, and finished", async () => {
    const run = start(background)
    await run.line(/^working in the background: 1 \(npm run dev\)$/)
    const [live] = await runs()
    const { exit, out } = await corral.run("finish", live.id)
    assert.strictEqual(exit, 0)
    assert.match(out[0] ?? "", new RegExp(`^${live.id} `))
    assert.strictEqual(await run.ended, 0)
    assert.match(run.out.join("\n"), /^completed; stopped: npm run dev/m)
    assert.strictEqual((await corral.run("finish", live.id)).exit, 0)
  })

  it("can't be finished during a turn", async () => {
    const run = start("/hang")
    const live = await until(
      async () => (await runs()).find(({ state }) => state === "running"),
      "a run in progress"
    )
    assert.match(await refusal("finish", live.id), /^The agent is still in its turn\./)
    await corral.run("cancel", live.id)
    assert.strictEqual(await run.ended, 130)
  })

  it("receives the text of run --continue as its next turn", async () => {
    const run = start("/work dev command npm run dev\n/say started\n/end-turn")
    await run.line(/^working in the background: 1/)
    const next = corral.start("run", "--continue", "/say again\n/worked dev completed")
    assert.strictEqual(await next.ended, 0, next.stderr)
    assert.strictEqual(await run.ended, 0)
    assert.include(next.out.join("\n"), "again")
    assert.notInclude(next.out.join("\n"), "started")
  })

  it("ends at its limit without a completed run", async () => {
    const run = start(background, "--background", "1s")
    assert.strictEqual(await run.ended, 1)
    assert.match(run.out.join("\n"), /\(work_unfinished\)$/m)
  })
})

describe("steps, notices, and results with images", () => {
  it("are lines of the run", async () => {
    const run = start(
      "/steps in_progress Read | pending Write\n/steps completed Read | in_progress Write\n/notice warning Nearly full\n/image"
    )
    assert.strictEqual(await run.ended, 0)
    const text = run.out.join("\n")
    assert.match(text, /^ {2}steps: 0 of 2\n {2}◐ Read\n {2}○ Write$/m)
    assert.match(text, /^ {2}steps: 1 of 2\n {2}✓ Read\n {2}◐ Write$/m)
    assert.match(text, /^Nearly full$/m)
    assert.match(text, /^ {4}image .*\(art_\w+\)$/m)
  })
})
