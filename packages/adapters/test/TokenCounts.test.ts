/**
 * The table of tokens in docs/adapters.md, against recordings of answers whose tokens are known, and the tokens that the adapters make of them.
 *
 * A model service has played each recording, `fixtures/<adapter>/tokens`. All its counts differ, so that a sum shows what is part of it. The programs ask
 * the service for more than the turn: for a title before it, or for suggestions after it.
 */
import type { Usage } from "@corral/domain/run/Run"
import { replay } from "@corral/conformance/Replay"
import { fixtures, load, registry } from "@corral/testing/recordings/Fixtures"
import { assert, describe, it } from "@effect/vitest"
import { globSync, readFileSync } from "node:fs"
import { arrayOf, type JsonObject, objectOf, parseObject } from "../src/text/Json.ts"

/** Tokens of answers as the service counted them. */
interface Served {
  readonly fresh: number
  readonly read: number
  readonly written: number
  readonly text: number
  readonly reasoning: number
}

/** Numbers in the report of a program, for all answers that it counts. */
interface Reported {
  readonly input: number
  readonly output: number
  readonly read?: number
  readonly written?: number
  readonly reasoning?: number
}

/** Answer `number` of the service; OpenAI's chat and Gemini's service do not say what is written to a cache. */
const answer = (number: number, reportsWrites: boolean): Served => {
  const [fresh, written] = [500 + 13 * number, 100 + 3 * number]
  return {
    fresh: reportsWrites ? fresh : fresh + written,
    read: 300 + 7 * number,
    written: reportsWrites ? written : 0,
    text: 40 + number,
    reasoning: 10 + (number % 3)
  }
}

const served = (first: number, last: number, reportsWrites: boolean): Served =>
  Array.from({ length: last - first + 1 }, (_, at) => answer(first + at, reportsWrites)).reduce(
    (sum, one) => ({
      fresh: sum.fresh + one.fresh,
      read: sum.read + one.read,
      written: sum.written + one.written,
      text: sum.text + one.text,
      reasoning: sum.reasoning + one.reasoning
    })
  )

type Line = JsonObject

/** A number by its path in a line. */
const at = (line: Line, ...path: ReadonlyArray<string>): number | undefined => {
  const value = path.reduce<unknown>((value, name) => objectOf(value)[name], line)
  return typeof value === "number" ? value : undefined
}

/** Sums of numbers in all lines that have the first one. */
const sums = (
  lines: ReadonlyArray<Line>,
  paths: { readonly [K in keyof Reported]: ReadonlyArray<string> }
): Reported => {
  const counted = lines.filter((line) => at(line, ...paths.input) !== undefined)
  assert.isNotEmpty(counted)
  const sum = (path: ReadonlyArray<string> | undefined): number | undefined =>
    path === undefined || counted.every((line) => at(line, ...path) === undefined)
      ? undefined
      : counted.reduce((total, line) => total + (at(line, ...path) ?? 0), 0)
  const [read, written, reasoning] = [paths.read, paths.written, paths.reasoning].map(sum)
  return {
    input: sum(paths.input) ?? 0,
    output: sum(paths.output) ?? 0,
    ...(read === undefined ? {} : { read }),
    ...(written === undefined ? {} : { written }),
    ...(reasoning === undefined ? {} : { reasoning })
  }
}

const inResponse = (...path: ReadonlyArray<string>) => ["result", ...path]
const acpTokens = {
  input: inResponse("usage", "inputTokens"),
  output: inResponse("usage", "outputTokens"),
  read: inResponse("usage", "cachedReadTokens"),
  written: inResponse("usage", "cachedWriteTokens"),
  reasoning: inResponse("usage", "thoughtTokens")
}
const claudeModel = ["model_usage_since_last_result", "claude-sonnet-4-5"]
const codexTotal = ["params", "tokenUsage", "total"]
const stepTokens = ["properties", "part", "tokens"]
const geminiQuota = inResponse("_meta", "quota", "token_count")
const qwenChunk = ["params", "update", "_meta", "usage"]

/** First and last answer that the program counts, whether its service reports writes, and where it says so. */
interface Program {
  readonly answers: readonly [first: number, last: number]
  readonly reportsWrites: boolean
  readonly report: (lines: ReadonlyArray<Line>) => Reported
}

/** A list in the report is read by its only entry. */
const withOnlyModel = (line: Line): Line => {
  const [entry] = arrayOf(objectOf(objectOf(objectOf(line["result"])["_meta"])["quota"])["model_usage"])
  return objectOf(entry)
}

const programs: Readonly<Record<string, Program>> = {
  "claude-code": {
    answers: [1, 3],
    reportsWrites: true,
    report: (lines) =>
      sums(lines, {
        input: [...claudeModel, "inputTokens"],
        output: [...claudeModel, "outputTokens"],
        read: [...claudeModel, "cacheReadInputTokens"],
        written: [...claudeModel, "cacheCreationInputTokens"],
        reasoning: [...claudeModel, "thinkingTokens"]
      })
  },
  codex: {
    answers: [1, 3],
    reportsWrites: true,
    report: (lines) =>
      sums(lines.filter((line) => at(line, ...codexTotal, "inputTokens") !== undefined).slice(-1), {
        input: [...codexTotal, "inputTokens"],
        output: [...codexTotal, "outputTokens"],
        read: [...codexTotal, "cachedInputTokens"],
        written: [...codexTotal, "cacheWriteInputTokens"],
        reasoning: [...codexTotal, "reasoningOutputTokens"]
      })
  },
  opencode: {
    answers: [2, 4],
    reportsWrites: false,
    report: (lines) =>
      sums(
        lines.filter((line) => objectOf(objectOf(line["properties"])["part"])["type"] === "step-finish"),
        {
          input: [...stepTokens, "input"],
          output: [...stepTokens, "output"],
          read: [...stepTokens, "cache", "read"],
          reasoning: [...stepTokens, "reasoning"]
        }
      )
  },
  qwen: {
    answers: [1, 3],
    reportsWrites: false,
    report: (lines) =>
      sums(
        lines.filter(({ type }) => type === "result"),
        {
          input: ["usage", "input_tokens"],
          output: ["usage", "output_tokens"],
          read: ["usage", "cache_read_input_tokens"]
        }
      )
  },
  gemini: {
    answers: [1, 3],
    reportsWrites: false,
    report: (lines) =>
      sums(lines, {
        input: ["stats", "input_tokens"],
        output: ["stats", "output_tokens"],
        read: ["stats", "cached"]
      })
  },
  pi: {
    answers: [1, 3],
    reportsWrites: false,
    report: (lines) =>
      sums(
        lines.filter(({ type }) => type === "message_end"),
        {
          input: ["message", "usage", "input"],
          output: ["message", "usage", "output"],
          read: ["message", "usage", "cacheRead"]
        }
      )
  },
  "claude-agent-acp": {
    answers: [1, 4],
    reportsWrites: true,
    report: (lines) =>
      sums(lines.map(withOnlyModel), {
        input: ["token_count", "inputTokens"],
        output: ["token_count", "outputTokens"],
        read: ["token_count", "cachedInputTokens"],
        written: ["token_count", "cachedWriteTokens"]
      })
  },
  "codex-acp": { answers: [1, 3], reportsWrites: true, report: (lines) => sums(lines, acpTokens) },
  "opencode-acp": { answers: [4, 4], reportsWrites: false, report: (lines) => sums(lines, acpTokens) },
  "copilot-acp": { answers: [1, 3], reportsWrites: false, report: (lines) => sums(lines, acpTokens) },
  "gemini-acp": {
    answers: [1, 3],
    reportsWrites: false,
    report: (lines) =>
      sums(lines, { input: [...geminiQuota, "input_tokens"], output: [...geminiQuota, "output_tokens"] })
  },
  "qwen-acp": {
    answers: [1, 3],
    reportsWrites: false,
    report: (lines) =>
      sums(lines, {
        input: [...qwenChunk, "inputTokens"],
        output: [...qwenChunk, "outputTokens"],
        read: [...qwenChunk, "cachedReadTokens"],
        reasoning: [...qwenChunk, "thoughtTokens"]
      })
  }
}

/** What a reported sum has, in the words of the table: `whole` with the part, `rest` without it. */
const partOf = (
  reported: number,
  whole: number,
  rest: number,
  figure: number | undefined,
  part: number
): string => {
  if (figure !== undefined) assert.strictEqual(figure, part)
  if (reported === whole) return figure === undefined ? "part of it, no figure" : "part of it"
  assert.strictEqual(reported, rest)
  return figure === undefined ? "left out" : "apart"
}

/** The cells of a row of the table. */
const cellsOf = (
  { input, output, read, reasoning, written }: Reported,
  truth: Served,
  reportsWrites: boolean
) => {
  const [whole, apart] = [truth.fresh + truth.read + truth.written, truth.fresh]
  const reads = partOf(input, whole, apart, read, truth.read)
  return [
    reads,
    reportsWrites ? partOf(input, whole, apart, written, truth.written) : "not recorded",
    partOf(output, truth.text + truth.reasoning, truth.text, reasoning, truth.reasoning)
  ]
}

/** Rows of the table by adapter. */
const documented = new Map(
  readFileSync(new URL("../../../docs/adapters.md", import.meta.url), "utf8")
    .split("\n## Tokens and cost\n")[1]
    ?.split("\n## ")[0]
    ?.split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line): [string, ReadonlyArray<string>] => {
      const [, id = "", ...cells] = line.split("|").map((cell) => cell.trim())
      return [id.replaceAll("`", ""), cells]
    })
)

const linesOf = (id: string): ReadonlyArray<Line> =>
  readFileSync(`${fixtures}${id}/tokens/stdout.jsonl`, "utf8")
    .split("\n")
    .flatMap((line): ReadonlyArray<Line> => {
      const read = parseObject(line)
      return read === undefined ? [] : [read]
    })

/** The last usage that the adapter reports. */
const usageOf = (id: string): Usage => {
  const adapter = registry.get(id)
  if (adapter === undefined) return assert.fail(`there is no adapter ${id}`)
  const recording = load(id, "tokens")
  const outputs = replay(adapter, recording, [recording.stdout])
  const usages = outputs.flatMap((output) =>
    output._tag === "Usage" ? output.usage : output._tag === "Outcome" ? (output.outcome.usage ?? []) : []
  )
  return usages.at(-1) ?? {}
}

describe("The table of tokens", () => {
  it("has each adapter with a recording of tokens", () => {
    const recorded = globSync("*/tokens", { cwd: fixtures }).map((path) => path.split("/")[0] ?? "")
    assert.deepStrictEqual(recorded.toSorted(), Object.keys(programs).toSorted())
    assert.includeMembers([...documented.keys()], recorded)
  })

  it.each(Object.entries(programs))(
    "says what the report of %s has",
    (id, { answers, report, reportsWrites }) => {
      const truth = served(...answers, reportsWrites)
      const cells = cellsOf(report(linesOf(id)), truth, reportsWrites)
      assert.deepStrictEqual(documented.get(id)?.slice(1, 4), cells)
    }
  )

  it.each(Object.entries(programs))(
    "is undone by the adapter %s",
    (id, { answers, report, reportsWrites }) => {
      const truth = served(...answers, reportsWrites)
      const [, , reasoning] = cellsOf(report(linesOf(id)), truth, reportsWrites)
      const { cachedInputTokens = truth.read, inputTokens, outputTokens, reasoningTokens } = usageOf(id)
      const isLost = reasoning === "left out" && reasoningTokens === undefined
      assert.deepStrictEqual(
        { cachedInputTokens, inputTokens, outputTokens },
        {
          cachedInputTokens: truth.read,
          inputTokens: truth.fresh + truth.read + truth.written,
          outputTokens: truth.text + (isLost ? 0 : truth.reasoning)
        }
      )
    }
  )
})
