import { assert, describe, it } from "@effect/vitest"
import { uiMessages } from "../../src/ui/messages.ts"
import { refusalAdvice } from "../../src/ui/RefusalNote.tsx"

const adviceFor = (code: "conflict" | "runtime_unavailable" | "target_offline", details = {}) =>
  (["en", "zh"] as const).map((language) => refusalAdvice(uiMessages[language], { code, details }))

describe("refusalAdvice", () => {
  it("depends on the reason of an unavailable runtime", () => {
    const [installEn, installZh] = adviceFor("runtime_unavailable", { reason: "command_missing" })
    assert.match(installEn ?? "", /^Install/)
    assert.match(installZh ?? "", /安装/)
    const [signInEn, signInZh] = adviceFor("runtime_unavailable", { reason: "bad_credentials" })
    assert.match(signInEn ?? "", /^Sign in/)
    assert.match(signInZh ?? "", /登录/)
  })

  it.each(["rate_limited", "crashed", undefined])(
    "does not advise to install for the reason %s",
    (reason) => {
      const [english, chinese] = adviceFor("runtime_unavailable", { reason })
      assert.match(english ?? "", /^Try again/)
      assert.notMatch(english ?? "", /[Ii]nstall|[Ss]ign in/)
      assert.notMatch(chinese ?? "", /安装|登录/)
    }
  )

  it("depends on the reason of a refused pause", () => {
    const [english, chinese] = adviceFor("conflict", { reason: "no_control_group" })
    assert.match(english ?? "", /^Stop it instead/)
    assert.match(chinese ?? "", /停止/)
    assert.match(adviceFor("conflict", { reason: "constructor" })[0] ?? "", /^Reload/)
  })

  it("is by code otherwise", () => {
    assert.match(adviceFor("target_offline")[0] ?? "", /^Start the Edge/)
  })
})
