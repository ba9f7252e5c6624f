import { errorCodes, errorTable } from "@corral/domain/errors/ErrorTable"
import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { chineseByMessage } from "../../src/ui/chineseErrors.ts"
import { errorSentence } from "../../src/ui/errorSentence.ts"

const packages = fileURLToPath(new URL("../../../", import.meta.url))

/** Parts of Hub and Edge whose sentences reach no page of the console: links of devices, operators, programs, editors, and the sign-in's own pages. */
const elsewhere =
  /\/(store|inspection|holder|signin|chat|live)\/|\/(EmbeddedEdge|openEdge|Health|Public|SignIn|HubRequestPolicy|ChatBindings|DeviceRegistration|Auth|HubLink|KeyRotation|LeaseTakeover|EncodedOffer|Proofs|Leases|LinkConnection|EventStreams|AgentHost|AgentHostBackend|AgentHostMessages|HostActions|HostPlaces)\.ts$/

const sources = ["edge/src", "hub/src"].flatMap((folder) =>
  readdirSync(join(packages, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(packages, folder, name))
)

/** Fixed sentences of errors. Those that begin with "Expected" are next to the field that they are about. */
const sentencesOf = (source: string): ReadonlyArray<string> =>
  [...source.matchAll(/\bmessage: ?"([A-Z][^"]+\.)"/g)].flatMap(([, sentence = ""]) => [sentence])

describe("errorSentence", () => {
  it.each(errorCodes)("has a Chinese sentence for the code %s", (code) => {
    const { message } = errorTable[code]
    assert.strictEqual(errorSentence({ code, message }, "en"), message)
    assert.match(errorSentence({ code, message }, "zh"), /^[^a-z]*[\u4e00-\u9fff].*。$/)
  })

  it("has a Chinese sentence for each fixed sentence of Hub and Edge that a page can show", () => {
    const missing = sources
      .filter((file) => !elsewhere.test(file))
      .flatMap((file) => sentencesOf(readFileSync(file, "utf8")).map((sentence) => [file, sentence] as const))
      .filter(([, sentence]) => !chineseByMessage.has(sentence))
      .map(([file, sentence]) => `${file.slice(packages.length)}: ${sentence}`)
    assert.deepStrictEqual(missing, [])
  })

  it("shows what a program says as it is, after the sentence of the code", () => {
    const error = { code: "runtime_unavailable", message: "exit code 7" }
    assert.strictEqual(errorSentence(error, "en"), "exit code 7")
    assert.strictEqual(errorSentence(error, "zh"), "智能体程序缺失、未登录或运行出错。（exit code 7）")
    const unreachable = { code: "unreachable", message: "Can't reach the server." }
    assert.strictEqual(errorSentence(unreachable, "en"), "Can't reach the Hub.")
    assert.strictEqual(errorSentence(unreachable, "zh"), "无法连接到 Hub。")
    assert.strictEqual(errorSentence({ code: "later", message: "New." }, "zh"), "New.")
  })
})
