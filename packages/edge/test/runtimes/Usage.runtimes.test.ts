/**
 * What the real programs use, behind an Edge, is what the model service has counted: in a turn, with sub-agents, in a later turn of the conversation in
 * another process, and in runs that are cancelled or killed. Their cost is the sum of the prices of these calls, whether the program reports it or the Edge
 * estimates it. The service's counts differ from answer to answer, so that a sum shows which answers it has.
 */
import type { Run, RunMode, Usage } from "@corral/domain/run/Run"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type AnswerTokens, inputOfAnswer, outputOfAnswer } from "./dialects/Dialect.ts"
import { endingOf } from "./DrivenAgents.ts"
import { RIGHT_KEY, type SentAnswer } from "./FakeModels.ts"
import { ownSandbox } from "./Programs.ts"
import { promptFor } from "./Script.ts"
import { type BegunRun, type Played, Stage } from "./Stage.ts"
import { installSubjects } from "./Subjects.ts"

const report: Array<string> = []
afterAll(() => console.log(report.join("\n")))

const folder = mkdtempSync(join(tmpdir(), "corral-prices-"))
const pricesFile = join(folder, "prices.json")
chmodSync(folder, 0o755)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Price {
  readonly input: number
  readonly output: number
  readonly cachedInput: number
  readonly cacheWrite: number
}

/** Of a model that is in no table, by the file of the Edge's owner, and by OpenCode's settings. */
const fake: Price = { input: 10, output: 40, cachedInput: 1, cacheWrite: 12 }
writeFileSync(pricesFile, JSON.stringify({ models: { "fake-model": fake, "other-model": fake } }), {
  mode: 0o644
})

/** List prices, for a million tokens. */
const prices: Readonly<Record<string, Price>> = {
  "fake-model": fake,
  "claude-sonnet-4-5": { input: 3, output: 15, cachedInput: 0.3, cacheWrite: 3.75 },
  "gemini-2.5-flash": { input: 0.3, output: 2.5, cachedInput: 0.03, cacheWrite: 0.3 }
}

/**
 * Which answers a program counts: `all`, those of its side questions included, those of its turns, `some` of them where it also asks for reviews or
 * suggestions, the last of each turn, or none. `reasoning`: whether it reports those tokens.
 */
interface Counting {
  readonly answers: "all" | "turns" | "some" | "last" | "none"
  readonly cached: boolean
  readonly reasoning: boolean
  /** Which cost the run has: that of all its turns, also where their tokens are not reported. */
  readonly cost: "program" | "estimated" | "none"
  /** Of a run that continues a conversation, where the program's figure includes the earlier runs. */
  readonly laterCost?: "estimated" | "none"
  /** Whether a call counts when it ends, so that an earlier end of the run has it too. */
  readonly whileItWorks: boolean
  /** Its output is that of the text alone. */
  readonly leavesOutReasoning?: boolean
  /** It reports its replies instead of tokens. */
  readonly countsReplies?: true
  /** Of turns that it starts by itself, as after a sub-agent, it reports the cost only. */
  readonly hidesOwnTurns?: true
}

const figures = { cached: true, reasoning: true } as const
const atTheEnd = { ...figures, cost: "estimated", whileItWorks: false } as const
const byCall = { ...figures, cost: "estimated", whileItWorks: true } as const
const nothing = { cached: false, reasoning: false, cost: "none", whileItWorks: false } as const

const countings: Readonly<Record<string, Counting>> = {
  "claude-code": { ...byCall, answers: "all", cost: "program" },
  codex: { ...byCall, answers: "turns" },
  opencode: { ...byCall, answers: "turns", cost: "program" },
  qwen: { ...byCall, answers: "turns", reasoning: false },
  pi: { ...byCall, answers: "turns", reasoning: false },
  gemini: { ...atTheEnd, answers: "some" },
  copilot: { ...nothing, answers: "none", countsReplies: true },
  "claude-agent-acp": {
    ...atTheEnd,
    answers: "some",
    reasoning: false,
    cost: "program",
    laterCost: "estimated",
    hidesOwnTurns: true
  },
  "codex-acp": { ...atTheEnd, answers: "some" },
  "opencode-acp": { ...atTheEnd, answers: "last", cost: "program", laterCost: "none" },
  "gemini-acp": {
    ...atTheEnd,
    answers: "turns",
    cached: false,
    reasoning: false,
    leavesOutReasoning: true
  },
  "qwen-acp": { ...byCall, answers: "turns" },
  "copilot-acp": { ...atTheEnd, answers: "turns", cost: "none" },
  "kimi-acp": { ...nothing, answers: "none" }
}

const outputOf = (tokens: AnswerTokens, { leavesOutReasoning = false }: Counting): number =>
  leavesOutReasoning ? tokens.text : outputOfAnswer(tokens)

/** Without a figure for cached tokens, all have the price of new ones. */
const costOf = ({ model, tokens }: SentAnswer, counting: Counting): number => {
  const price = prices[model]
  if (price === undefined) assert.fail(`${model} has no price here`)
  const { fresh, read, written } = tokens
  const input = counting.cached
    ? fresh * price.input + read * price.cachedInput + written * price.cacheWrite
    : inputOfAnswer(tokens) * price.input
  return (input + outputOf(tokens, counting) * price.output) / 1e6
}

const sumOf = (answers: ReadonlyArray<SentAnswer>, count: (answer: SentAnswer) => number): number =>
  answers.reduce((sum, answer) => sum + count(answer), 0)

const tokensOf = (answers: ReadonlyArray<SentAnswer>, counting: Counting) => ({
  inputTokens: sumOf(answers, ({ tokens }) => inputOfAnswer(tokens)),
  outputTokens: sumOf(answers, ({ tokens }) => outputOf(tokens, counting)),
  ...(counting.cached ? { cachedInputTokens: sumOf(answers, ({ tokens }) => tokens.read) } : {}),
  ...(counting.reasoning ? { reasoningTokens: sumOf(answers, ({ tokens }) => tokens.reasoning) } : {})
})

/** The answers whose tokens give these sums; `undefined` if there are none. */
const answersOf = (
  tokens: Partial<Usage>,
  answers: ReadonlyArray<SentAnswer>,
  counting: Counting
): ReadonlyArray<SentAnswer> | undefined => {
  const sets = Array.from({ length: 2 ** answers.length }, (_, set) =>
    answers.filter((_, at) => Math.floor(set / 2 ** at) % 2 === 1)
  )
  return sets.find((set) => {
    const sums: Partial<Usage> = tokensOf(set, counting)
    return (Object.keys(sums) as ReadonlyArray<keyof Usage>).every((name) => sums[name] === tokens[name]) // the keys of the sums
  })
}

const counted = (
  tokens: Partial<Usage>,
  answers: ReadonlyArray<SentAnswer>,
  counting: Counting
): ReadonlyArray<SentAnswer> => {
  const turns = answers.filter(({ isSide }) => !isSide)
  switch (counting.answers) {
    case "all":
      return answers
    case "turns":
      return turns
    case "some":
      return answersOf(tokens, answers, counting) ?? answers
    case "last":
      return turns.slice(-1)
    case "none":
      return []
  }
}

/** Some end with the program that started them. */
const kill = (pid: number): void => {
  try {
    process.kill(pid, "SIGKILL")
  } catch {
    // It has ended.
  }
}

const subjects = await installSubjects()

describe.each(subjects)("$agentId", ({ adapter, agentId, place }) => {
  const counting = countings[agentId]
  if (place.missing !== undefined || counting === undefined) {
    const reason = place.missing ?? "its tokens are not described"
    console.log(`${agentId} is skipped: ${reason}`)
    it.skip(`is driven: ${reason}`)
    return
  }
  const mode: RunMode = adapter.capabilities.approvals ? "ask" : "full_access"
  const act = ownSandbox.has(agentId) ? "escape" : "run"
  let stage: Stage
  let first: Played | undefined
  beforeAll(async () => {
    stage = await Stage.open(place, agentId, RIGHT_KEY, {
      grants: ["full_access"],
      env: () => ({ CORRAL_EDGE_PRICES_FILE: pricesFile })
    })
  })
  afterAll(() => stage.close())

  const allow = () => "allow" as const
  const note = (what: string, { state, usage }: Run, answers: ReadonlyArray<SentAnswer>) =>
    report.push(
      `${place.program.name} ${place.program.version}, ${agentId}, ${what}: ${state}, ${JSON.stringify(usage)}, ${answers.length} answers, ${answers.filter(({ isSide }) => isSide).length} of them to side questions`
    )

  /** Checks the usage of a run that has ended. */
  const check = (usage: Usage = {}, answers: ReadonlyArray<SentAnswer>, isLater = false): void => {
    const { costSource, costUsd, turns: _turns, ...tokens } = usage
    const replies = answers.filter(({ isSide }) => !isSide)
    if (counting.answers === "none")
      return assert.deepStrictEqual(usage, counting.countsReplies === true ? { turns: replies.length } : {})
    const expected = counted(tokens, answers, counting)
    assert.deepInclude(tokens, tokensOf(expected, counting))
    const source = isLater ? (counting.laterCost ?? counting.cost) : counting.cost
    assert.strictEqual(costSource, source === "none" ? undefined : source)
    if (source === "none") return assert.isUndefined(costUsd)
    const priced = counting.answers === "last" ? replies : expected
    const cost = sumOf(priced, (answer) => costOf(answer, counting))
    assert.closeTo(costUsd ?? 0, cost, 1e-7)
  }

  /** Plays a prompt, and checks what its run has used. */
  const playAndCheck = async (
    what: string,
    play: () => Promise<Played>,
    isLater = false
  ): Promise<Played> => {
    const before = stage.answers.length
    const played = await play()
    const answers = stage.answers.slice(before)
    const run = await stage.edge.client.run(played.runId)
    note(what, run, answers)
    assert.strictEqual(played.end.type, "run.completed", endingOf(played))
    assert.deepStrictEqual(played.end.payload["usage"], run.usage)
    check(run.usage, answers, isLater)
    return played
  }

  it("counts each call of a turn once", async () => {
    first = await playAndCheck("a turn", () =>
      stage.playAll(promptFor(act, "echo first ;; echo second"), allow, mode)
    )
  })

  it.runIf(adapter.capabilities.resume)("counts only its part of a conversation that continues", async () => {
    const resume = first?.runId
    if (resume === undefined) assert.fail("the first turn has no run")
    await playAndCheck(
      "a later turn",
      () => stage.playAll(promptFor(act, "echo again"), allow, mode, undefined, { resume }),
      true
    )
  })

  it("counts sub-agents", async () => {
    const impossible = stage.impossibleSteps.length
    const before = stage.answers.length
    const played = await stage.playAll(promptFor("delegate", "echo delegated"), allow, mode)
    const answers = stage.answers.slice(before)
    const run = await stage.edge.client.run(played.runId)
    const isOffered = stage.impossibleSteps.length === impossible
    note(isOffered ? "a sub-agent" : "a sub-agent, which it does not offer", run, answers)
    // Without a tool for it, the program may ask for suggestions after its first words.
    if (isOffered && counting.hidesOwnTurns !== true) check(run.usage, answers)
  })

  /** A run whose second call to the model is in progress, and what it has used so far. */
  const begunTwice = async () => {
    const before = stage.answers.length
    const answers = stage.holdAnswers(1)
    const run = await stage.playWhile(
      promptFor(act, "echo once ;; echo twice"),
      answers.reached,
      "the call",
      mode
    )
    return { ...run, sent: () => stage.answers.slice(before), release: answers.release }
  }

  /** Checks a run that ended before its program had reported everything. */
  const checkCut = async (
    what: string,
    { reader, runId }: BegunRun,
    sent: ReadonlyArray<SentAnswer>
  ): Promise<void> => {
    await reader.ended
    const run = await stage.edge.client.run(runId)
    note(what, run, sent)
    if (counting.whileItWorks) {
      const turns = sent.filter(({ isSide }) => !isSide)
      const { inputTokens, outputTokens } = tokensOf(turns, counting)
      assert.isAtLeast(run.usage?.inputTokens ?? 0, inputTokens)
      assert.isAtLeast(run.usage?.outputTokens ?? 0, outputTokens)
      if (counting.cost !== "none") assert.isAbove(run.usage?.costUsd ?? 0, 0)
    }
    assert.deepStrictEqual(reader.events.at(-1)?.payload["usage"], run.usage)
  }

  it("has what a cancelled run has used", async () => {
    const run = await begunTwice()
    const sent = run.sent()
    await stage.edge.client.cancel(run.runId)
    run.release()
    await checkCut("cancelled", run, sent)
  })

  it("has what a run has used whose program is killed", async () => {
    const run = await begunTwice()
    const sent = run.sent()
    for (const { pid } of stage.edge.survivorsOf(run.runId)) kill(pid)
    run.release()
    await checkCut("killed", run, sent)
  })
})
