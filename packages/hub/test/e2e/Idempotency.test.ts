import { assert, describe, it } from "@effect/vitest"
import type { Project } from "@corral/domain/project/Project"
import { codeOf, HubClient } from "@corral/testing/hub/HubClient"
import { openHub } from "@corral/testing/hub/HubProcess"

describe("An idempotency key", () => {
  it("has one effect and one response for 100 concurrent requests, also when the Hub is killed meanwhile", async () => {
    const hub = await openHub()
    const { token, userId } = await hub.people.signIn("ada")
    const request = { body: { name: "Once" }, headers: { "idempotency-key": "the-one" } }
    let answered = 0
    let killed = false
    let again = Promise.resolve()

    /** As a client does that was told to try again, or not answered at all. */
    const ask = async (): Promise<string> => {
      for (;;) {
        await again
        const client = new HubClient(hub.url, token, userId)
        const answer = await client
          .ask<Project>("POST", "/client/projects", request)
          .catch((error: unknown) => {
            // Cut off by the kill; what else goes wrong here is a failure.
            if (error instanceof TypeError) return undefined
            throw error
          })
        if (answer?.status === 201) {
          answered++
          return answer.text
        }
        if (answer === undefined) continue
        // On a busy machine no connection to the database may be free for two seconds.
        if (codeOf(answer) === "overloaded") continue
        assert.strictEqual(codeOf(answer), "idempotency_in_flight", answer.text)
        if (killed) continue
        // While the first of them is in flight.
        killed = true
        again = hub.end("SIGKILL").then(() => hub.start())
      }
    }
    const answers = await Promise.all(Array.from({ length: 100 }, ask))
    assert.isTrue(killed, "one was in flight")
    assert.strictEqual(answered, 100)
    assert.strictEqual(new Set(answers).size, 1)
    const projects = await new HubClient(hub.url, token).ask<{ readonly items: ReadonlyArray<Project> }>(
      "GET",
      "/client/projects"
    )
    assert.strictEqual(projects.body.items.length, 1)
  })
})
