/**
 * Search over the texts of 100,000 runs: the Hub beside the floor, which runs the same statements through `pg`. The words are rare, frequent,
 * short, Chinese, several, and absent.
 */
import { foldText, gramsOfText, gramsOfWord, searchableText } from "@corral/hub/search/Search"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { BenchSide } from "../Builds.ts"
import { compared, interleave, on, sidesOf } from "../Pair.ts"
import { atMost, type Report } from "../Report.ts"
import { quantile } from "../Statistics.ts"
import type { HubBenchOptions } from "./HubBench.ts"
import { type HubPair, ROWS, withHubPair } from "./HubPair.ts"
import { Client, take } from "./Requests.ts"

/** Different texts of each kind. Each occurs in 20 runs. */
const TEXTS = 5_000
const COUNT = 200
const AT_ONCE = 4
const LIMIT = 50

const syllables =
  "de plo er ro ta in con fig ser vi ce mi gra tion ke re start lo test ing fa up que ry".split(" ")
const chinese = [..."数据库迁移测试部署服务配置更新查询索引缓存令牌处理错误日志重启构建会话消息运行"]

/** Numbers below 1, the same in every run. */
const numbers = (seed: number) => () => {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
  return seed / 2 ** 32
}

const vocabularyOf = (next: () => number): ReadonlyArray<string> =>
  Array.from({ length: 8_000 }, (_, i) => {
    const letters = i % 10 === 0 ? chinese : syllables
    return Array.from(
      { length: 2 + Math.floor(next() * 3) },
      () => letters[Math.floor(next() * letters.length)]
    ).join("")
  })

/** Words by rank: the first ones occur in most texts, the last ones in a few. */
const makeText = (next: () => number, vocabulary: ReadonlyArray<string>, characters: number): string => {
  let text = ""
  while (text.length < characters) text += `${vocabulary[Math.floor(vocabulary.length ** next()) - 1]} `
  return text.trim()
}

/** Documents of `ROWS` runs with a prompt, a result and files, and the words to search for. */
const seed = Effect.fnUntraced(function* (projectId: HubPair["projectId"]) {
  const sql = yield* SqlClient.SqlClient
  const next = numbers(1)
  const vocabulary = vocabularyOf(next)
  yield* sql`CREATE TABLE bench_texts (n integer, kind text, text text, folded text, grams integer[])`
  for (const [kind, characters] of Object.entries({ prompt: 120, result: 600, files: 150 })) {
    const texts = Array.from({ length: TEXTS }, () =>
      searchableText(makeText(next, vocabulary, characters * (0.5 + next())))
    )
    yield* sql`
      INSERT INTO bench_texts SELECT n - 1, ${kind}, text, folded, grams::integer[] FROM unnest(
        ${texts}::text[], ${texts.map(foldText)}::text[],
        ${texts.map((text) => `{${gramsOfText(foldText(text)).join(",")}}`)}::text[]
      ) WITH ORDINALITY AS t (text, folded, grams, n)`
  }
  // Longer than a statement of the Hub may take.
  yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`SELECT set_config('statement_timeout', '0', true)`
      yield* sql`DROP INDEX search_documents_by_grams`
      yield* sql`
    INSERT INTO search_documents (id, kind, project_id, run_id, at, text, folded, grams)
    SELECT kind || '_run_' || lpad(i::text, 26, '0'), kind, ${projectId}, 'run_' || lpad(i::text, 26, '0'),
      '2026-01-01'::timestamptz + i * interval '1 minute', text, folded, grams
    FROM generate_series(1, ${ROWS}) i JOIN bench_texts ON n = (i::bigint * 7919) % ${TEXTS}`
      yield* sql`CREATE INDEX search_documents_by_grams ON search_documents USING gin (grams)`
    })
  )
  yield* sql`VACUUM ANALYZE search_documents`
  const words = [0, 30, 300, 1_001, 2_001, 4_001, 7_001].map((rank) => vocabulary[rank] ?? "")
  return [...words, "数据", "库", "ta", `${words[2]} ${words[1]}`, "zebrafish"]
})

export const measureSearch = (options: HubBenchOptions, report: Report): Promise<void> =>
  withHubPair(options, async ({ act, projectId, sides, token }) => {
    const client = new Client(token, AT_ONCE)
    try {
      const queries = await act(seed(projectId))
      const urlOf = (side: BenchSide, query: string): string => {
        const words = query.split(" ")
        const searched = {
          q: query,
          words: JSON.stringify(words),
          grams: JSON.stringify(words.flatMap(gramsOfWord))
        }
        const parameters = side === "floor" ? searched : { q: query }
        return `${on(sides, side).url}/client/search?${new URLSearchParams({ ...parameters, limit: String(LIMIT) })}`
      }
      const round = (rounds: number) =>
        interleave(
          rounds,
          async (side) => {
            let turn = 0
            return take(COUNT, AT_ONCE, () =>
              client.body(urlOf(side, queries[turn++ % queries.length] ?? ""))
            )
          },
          sidesOf(options)
        )
      await round(1)
      const taken = await round(options.rounds)
      const add = (
        name: string,
        unit: string,
        of: (taken: { rate: number; times: ReadonlyArray<number> }) => number
      ) => ({
        figure: `search over the texts of ${ROWS} runs, ${name}`,
        unit,
        ...compared(taken, of),
        rounds: options.rounds
      })
      report.add({ ...add("p95", "ms", ({ times }) => quantile(times, 0.95)), goal: atMost(100) })
      report.add(add("p50", "ms", ({ times }) => quantile(times, 0.5)))
      report.add(add("requests a second", "/s", ({ rate }) => rate))
    } finally {
      client.close()
    }
  })
