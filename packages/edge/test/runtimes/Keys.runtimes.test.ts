/**
 * The real programs in confined runs whose key stays outside: the model server receives the key, the program has a placeholder. With TLS, which
 * the proxy of the run ends, and without.
 */
import { afterAll, assert, describe, it, onTestFinished } from "@effect/vitest"
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { makeRunAuthority } from "../../src/network/RunAuthority.ts"
import { canConfine } from "../confinement/CanConfine.ts"
import { RIGHT_KEY, WRONG_KEY } from "./FakeModels.ts"
import { install, type Installed } from "./Installation.ts"
import { programs } from "./Programs.ts"
import { promptFor } from "./Script.ts"
import { Stage } from "./Stage.ts"

/** Variables with the key, by agent. */
const variables: Readonly<Record<string, string>> = {
  "claude-code": "ANTHROPIC_API_KEY",
  codex: "OPENAI_API_KEY",
  "opencode-acp": "OPENAI_API_KEY",
  "gemini-acp": "GEMINI_API_KEY",
  qwen: "OPENAI_API_KEY"
}

interface Subject {
  readonly agentId: string
  readonly place: Installed
  readonly variable: string
}

const report: Array<string> = []
afterAll(() => console.log(report.join("\n")))

const subjects: Array<Subject> = []
for (const program of programs) {
  const ids = [...program.agents.map(({ id }) => id), ...(program.alsoAs ?? [])]
  for (const agentId of ids.filter((id) => id in variables))
    subjects.push({ agentId, place: await install(program), variable: variables[agentId] ?? "" })
}

const allow = () => "allow" as const
const ENVIRONMENT = "cat /proc/*/environ | xargs -0 -n1 | grep API_KEY"

describe.skipIf(!canConfine)("a run whose key stays outside", () => {
  for (const { agentId, place, variable } of subjects) {
    if (place.missing !== undefined) {
      it.skip(`with ${agentId}: ${place.missing}`)
      continue
    }
    const open = async (isSecure: boolean, key: string) => {
      const folder = mkdtempSync(join(realpathSync(tmpdir()), "corral-keys-"))
      onTestFinished(() => rmSync(folder, { recursive: true }))
      const { certificate, signed } = await makeRunAuthority([["127.0.0.1"]], Date.now())
      const file = join(folder, "authority.pem")
      writeFileSync(file, certificate)
      const stage = await Stage.open(place, agentId, key, {
        ...(isSecure ? { certificate: signed[0] } : {}),
        confinement: "required",
        env: (models) => ({
          NODE_EXTRA_CA_CERTS: file,
          CORRAL_EDGE_RUN_HOSTS: "",
          CORRAL_EDGE_PROXY_KEYS: JSON.stringify([
            { adapter: agentId, addresses: { [variable]: [new URL(models).origin] } }
          ])
        })
      })
      onTestFinished(() => stage.close())
      return stage
    }

    it.each([true, false])(`reaches the model with ${agentId}, TLS %s`, async (isSecure) => {
      const stage = await open(isSecure, RIGHT_KEY)
      const played = await stage.play(promptFor("run", ENVIRONMENT), allow)
      assert.strictEqual(played.end.type, "run.completed", JSON.stringify(played.end.payload))
      const last = played.modelRequests.at(-1) ?? ""
      assert.include(last, `${variable}=`)
      for (const text of [...played.modelRequests, JSON.stringify(played.events), stage.edge.stderr])
        assert.notInclude(text, RIGHT_KEY)
      report.push(`${agentId}: the model received the key with TLS ${isSecure}`)
    })

    it(`reports a wrong key with ${agentId}`, async () => {
      const stage = await open(true, WRONG_KEY)
      const played = await stage.play(promptFor("say", "Alpha"), allow)
      assert.strictEqual(played.end.type, "run.failed")
      report.push(`${agentId}: ${JSON.stringify(played.end.payload["error"])}`)
    })
  }
})
