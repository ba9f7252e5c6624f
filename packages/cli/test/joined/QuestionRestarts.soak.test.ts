/** 50 restarts under open questions, with real processes. `CORRAL_SEED` repeats a run. */
import { openJoined } from "@corral/testing/stack/Joined"
import { assert, it } from "@effect/vitest"
import { chanceOf } from "./Chaos.ts"
import { type Fault, QuestionRestarts } from "./QuestionRestarts.ts"
import { RecordingAgent } from "./RecordingAgent.ts"
import { filesWith, tablesWith } from "./StoredText.ts"

const RESTARTS = Number(process.env["CORRAL_TEST_RESTARTS"] ?? 50)
const faults: ReadonlyArray<Fault> = ["edge", "edge", "both", "hub", "connection"]

it("gives programs only answers of people, each once, with the names of those who answered", async () => {
  const chance = chanceOf()
  const agent = new RecordingAgent()
  const joined = await openJoined({
    edge: {
      env: {
        ...agent.env,
        CORRAL_EDGE_ORPHAN_MS: "120000",
        CORRAL_EDGE_CANCEL_GRACE_MS: "500",
        CORRAL_EDGE_REQUESTS_PER_SECOND: "1000000"
      }
    }
  })
  const colleague = await joined.hub.signedIn("colleague")
  const added = await joined.owner.ask("POST", `/client/projects/${joined.projectId}/members`, {
    body: { userId: colleague.userId, role: "member" }
  })
  assert.strictEqual(added.status, 201, added.text)
  const restarts = new QuestionRestarts(joined, agent, chance, colleague)
  for (let count = 0; count < RESTARTS; count++)
    await restarts.suffer(faults[count % faults.length] ?? "edge")
  await restarts.finish()
  const counts = await restarts.check()
  console.log(`${RESTARTS} restarts: ${JSON.stringify(counts)}`)
  assert.isAtLeast(counts.states.answered ?? 0, RESTARTS)
  assert.isAtLeast(counts.states.expired ?? 0, 1)
  assert.isAtLeast(restarts.secrets.length, RESTARTS / 10)
  assert.deepStrictEqual(await tablesWith(joined.hub, restarts.secrets), [])
  assert.deepStrictEqual(filesWith([joined.edge.home, joined.hub.folder], restarts.secrets), [])
  for (const secret of restarts.secrets) {
    assert.notInclude(joined.edge.stderr, secret)
    assert.notInclude(joined.hub.stderr, secret)
  }
})
