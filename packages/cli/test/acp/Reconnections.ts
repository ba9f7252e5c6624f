/** Editors that go away at random points of a run and load the session again. */
import type { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { until } from "@corral/testing/time/Until"
import { assert } from "@effect/vitest"
import { TestEditor } from "./TestEditor.ts"

const PIECES = 60

/** Text of the run with this many numbered pieces, streamed and said. */
const script = Array.from({ length: PIECES }, (_, at) => `/say piece ${at}.\n/sleep 15`).join("\n")

/**
 * Reconnects during runs of one session, each time when the editor has received up to `most` further updates. After the end of each run, the
 * last editor has each piece once and in order.
 */
export const reconnectAtRandom = async (
  edge: EdgeProcess,
  reconnections: number,
  random: (most: number) => number
): Promise<void> => {
  let editor = await TestEditor.open({ home: edge.home })
  let remaining = reconnections
  try {
    for (let run = 1; remaining > 0; run++) {
      // A session for each run: a longer one would load more and more.
      await editor.close()
      editor = await TestEditor.open({ home: edge.home })
      const session = await editor.create()
      // Its editor goes away before its end.
      editor.prompt(session, `${script}\n/say end of run ${run}`).catch(() => undefined)
      const has = () => editor.text.includes(`end of run ${run}`)
      await editor.shows("piece 0.")
      while (!has() && remaining > 0) {
        const wanted = editor.updates.length + random(4)
        await until(async () => editor.updates.length >= wanted || has() || undefined, "further updates")
        await editor.close()
        editor = await TestEditor.open({ home: edge.home })
        await editor.load(session)
        remaining--
      }
      await editor.shows(`end of run ${run}`)
      const numbers = [...editor.text.matchAll(/piece (\d+)\./g)].map(([, number]) => Number(number))
      assert.deepStrictEqual(
        numbers,
        Array.from({ length: PIECES }, (_, at) => at)
      )
    }
  } finally {
    await editor.close()
  }
}
