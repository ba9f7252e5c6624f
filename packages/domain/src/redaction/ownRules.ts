/**
 * Additional rules: formats that gitleaks lacks or matches more strictly, and secrets that follow a name.
 *
 * A format is looser here than in a scanner of repositories. In a transcript, a missed key costs more than a false positive.
 */
import type { SecretRule } from "./SecretRule.ts"

const hasDigit = (secret: string): boolean => /[0-9]/.test(secret)
const hasDigitAndLetter = (secret: string): boolean => hasDigit(secret) && /[A-Za-z]/.test(secret)
const isNotDigits = (secret: string): boolean => /[^0-9.]/.test(secret)

/** What follows `sk-` in names of styles and packages has words alone; a key has a long run that mixes, or both cases and digits. */
const isServiceKey = (secret: string): boolean =>
  hasDigit(secret) && (/[A-Z]/.test(secret) || /[a-z0-9]{16}/.test(secret))

const isWebToken = (secret: string): boolean => /^[\w-]{11,}\.[\w-]{8,}\.[\w-]{8,}/.test(secret)

/** Values in documents that describe a password and are not one. */
const isNoDescription = (secret: string): boolean =>
  !/\s/.test(secret) &&
  !/^(?:string|password|passwd|secret|token|required|optional|redacted|undefined|hidden)$/i.test(secret)

/** Keys with a recognizable beginning. */
const form = (prefix: string, rest: string, isSecret?: (secret: string) => boolean): SecretRule => ({
  id: prefix,
  keywords: [prefix.toLowerCase()],
  pattern: `(?<secret>${prefix.replaceAll(/[./]/g, String.raw`\$&`)}${rest})`,
  ...(isSecret === undefined ? {} : { isSecret })
})

const forms: ReadonlyArray<SecretRule> = [
  form("sk-", "[A-Za-z0-9_-]{16,}", isServiceKey),
  ...["sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_", "pk_live_"].map((prefix) =>
    form(prefix, "[A-Za-z0-9]{16,}")
  ),
  ...["ghp_", "gho_", "ghu_", "ghs_", "ghr_"].map((prefix) => form(prefix, "[A-Za-z0-9]{20,}")),
  form("github_pat_", "[A-Za-z0-9_]{22,}"),
  ...["glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "gloas-", "glsoat-"].map((prefix) =>
    form(prefix, "[A-Za-z0-9_-]{20,}")
  ),
  ...["xoxa-", "xoxb-", "xoxc-", "xoxd-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"].map(
    (prefix) => form(prefix, "[A-Za-z0-9.-]{10,}")
  ),
  ...["AKIA", "ASIA"].map((prefix) => form(prefix, "[A-Z0-9]{16}(?![A-Za-z0-9])")),
  form("AIza", "[A-Za-z0-9_-]{35,}"),
  form("ya29.", "[A-Za-z0-9_-]{20,}"),
  form("GOCSPX-", "[A-Za-z0-9_-]{20,}"),
  form("npm_", "[A-Za-z0-9]{36,}"),
  form("pypi-", "[A-Za-z0-9_-]{20,}", hasDigitAndLetter),
  form("hf_", "[A-Za-z0-9]{30,}"),
  form("gsk_", "[A-Za-z0-9]{20,}"),
  form("xai-", "[A-Za-z0-9_-]{20,}", hasDigitAndLetter),
  form("r8_", "[A-Za-z0-9]{30,}"),
  form("fw_", "[A-Za-z0-9]{24,}", hasDigit),
  ...["nvapi-", "tgp_v1_", "jina_", "phx_", "figd_", "sb_secret_", "nfp_"].map((prefix) =>
    form(prefix, "[A-Za-z0-9_-]{28,}", hasDigit)
  ),
  ...["dckr_pat_", "dckr_oat_", "tvly-", "rnd_", "tskey-", "lsv2_"].map((prefix) =>
    form(prefix, "[A-Za-z0-9_-]{20,}", hasDigitAndLetter)
  ),
  form("csk-", "[A-Za-z0-9]{32,}", hasDigit),
  form("sbp_", "[a-f0-9]{32,}"),
  form("NRAK-", "[A-Z0-9]{20,}"),
  form("cio", "[A-Za-z0-9]{32}(?![A-Za-z0-9])", hasDigit),
  form("oy2", "[a-z0-9]{43}(?![A-Za-z0-9])", hasDigit),
  form("key-", "[a-f0-9]{32}(?![A-Za-z0-9])"),
  form("secret_", "[A-Za-z0-9]{40,}", hasDigit),
  form("re_", "[A-Za-z0-9]{6,10}_[A-Za-z0-9]{20,}", hasDigit),
  ...["ATATT3", "ATCTT3", "ATBB"].map((prefix) => form(prefix, "[A-Za-z0-9_=-]{28,}", hasDigit)),
  form("sntrys_", "[A-Za-z0-9+/=_-]{40,}"),
  form("sk.eyJ", "[A-Za-z0-9_.-]{40,}"),
  form("sig=", "[A-Za-z0-9%+/=_-]{40,}", hasDigitAndLetter),
  form("whsec_", "[A-Za-z0-9+/=]{20,}"),
  form("SG.", String.raw`[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`),
  ...["hvs.", "hvb.", "hvr."].map((prefix) => form(prefix, "[A-Za-z0-9_-]{20,}")),
  ...["dop_v1_", "doo_v1_", "dor_v1_"].map((prefix) => form(prefix, "[a-f0-9]{32,}")),
  form("AGE-SECRET-KEY-1", "[A-Z0-9]{20,}"),
  form("eyJ", "[A-Za-z0-9_.-]{24,}", isWebToken),
  form("hooks.slack.com/", "(?:services|workflows|triggers)/[A-Za-z0-9+/_-]{16,}"),
  form("discord.com/api/webhooks/", "[0-9]{6,}/[A-Za-z0-9_-]{20,}"),
  form("discordapp.com/api/webhooks/", "[0-9]{6,}/[A-Za-z0-9_-]{20,}"),
  form("webhook.office.com/webhookb2/", "[A-Za-z0-9@/-]{40,}"),
  form("open.feishu.cn/open-apis/bot/v2/hook/", "[A-Za-z0-9-]{16,}"),
  form("open.larksuite.com/open-apis/bot/v2/hook/", "[A-Za-z0-9-]{16,}")
]

/** Names of secret values. */
const names = String.raw`(?:pass(?:word|wd|phrase)|(?<=_)pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|encryption[_-]?key|credentials?)`
const keywords = ["passw", "passphrase", "pwd", "secret", "token", "apikey", "api_key", "api-key"]
  .concat(["access_key", "access-key", "accesskey", "private_key", "private-key", "privatekey"])
  .concat(["encryption_key", "encryption-key", "encryptionkey", "credential"])
/** Allowed continuation of a name, as in `SECRET_ACCESS_KEY`. Excludes words that make the value something other than the secret. */
const more = String.raw`(?!_?(?:file|path|url|uri|name|id|type|length|size|count|limit|ttl|expir\w{0,12}|endpoint))(?:_[A-Za-z0-9]{1,20}){0,3}`
const unquoted = String.raw`[^\s'"\x60$<>(){}\[\]*,;&|\\]`

const named: ReadonlyArray<SecretRule> = [
  {
    id: "named-in-environment",
    keywords,
    pattern: `${names}${more}=["']?(?<secret>${unquoted}{4,256})`,
    tail: `${names}${more}=["']?(?<secret>${unquoted}{0,256})$`,
    ignoreCase: true,
    isSecret: isNotDigits
  },
  {
    id: "named-in-quotes",
    keywords,
    pattern: String.raw`${names}${more}\\{0,3}["']?\s{0,3}(?:=>|:=|[:=])\s{0,3}\\{0,3}["'\x60](?<secret>[^"'\x60\\\n]{6,256})\\{0,3}["'\x60]`,
    tail: String.raw`${names}${more}\\{0,3}["']?\s{0,3}(?:=>|:=|[:=])\s{0,3}\\{0,3}["'\x60](?<secret>[^"'\x60\\\n]{0,256})$`,
    ignoreCase: true,
    isSecret: isNoDescription
  },
  {
    id: "named-in-settings",
    keywords,
    pattern: String.raw`${names}${more}[ \t]{0,8}[:=][ \t]{1,8}(?<secret>${unquoted}{6,256})(?=\s|$)`,
    tail: String.raw`${names}${more}[ \t]{0,8}[:=][ \t]{1,8}(?<secret>${unquoted}{0,256})$`,
    ignoreCase: true,
    isSecret: hasDigitAndLetter
  },
  {
    id: "named-in-options",
    keywords: [
      "--pass",
      "--token",
      "--secret",
      "--api-key",
      "--apikey",
      "--auth-token",
      "--access-token",
      "--client-secret"
    ],
    pattern: String.raw`--(?:pass(?:word|wd|phrase)?|token|secret|api-?key|auth-token|access-token|client-secret)(?:=|[ \t]{1,4})["']?(?<secret>[^\s'"\x60$<>-][^\s'"\x60$<>]{3,256})`,
    tail: String.raw`--(?:pass(?:word|wd|phrase)?|token|secret|api-?key|auth-token|access-token|client-secret)(?:=|[ \t]{1,4})["']?(?<secret>[^\s'"\x60$<>]{0,256})$`
  },
  {
    id: "named-in-element",
    keywords,
    pattern: `${names}${more}>(?<secret>[^\\s<>(){}$]{4,256})</`,
    tail: `${names}${more}>(?<secret>[^\\s<>(){}$]{0,256})$`,
    ignoreCase: true,
    isSecret: isNoDescription
  },
  {
    id: "named-in-words",
    keywords: ["env ", "arg ", "set -", "setx "],
    pattern: String.raw`(?:env|arg|setx|set -[a-z]{1,4})[ \t]{1,4}(?:[a-z0-9]{1,20}_){0,3}${names}${more}[ \t]{1,4}["']?(?<secret>${unquoted}{6,256})`,
    tail: String.raw`(?:env|arg|setx|set -[a-z]{1,4})[ \t]{1,4}(?:[a-z0-9]{1,20}_){0,3}${names}${more}[ \t]{1,4}["']?(?<secret>${unquoted}{0,256})$`,
    ignoreCase: true,
    isSecret: hasDigitAndLetter
  },
  {
    id: "key-data-of-kubernetes",
    keywords: ["client-key-data"],
    pattern: String.raw`client-key-data["']?:[ \t]{0,4}["']?(?<secret>[A-Za-z0-9+/=]{20,})`,
    tail: String.raw`client-key-data["']?:[ \t]{0,4}["']?(?<secret>[A-Za-z0-9+/=]*)$`
  },
  {
    id: "private-lines-of-putty",
    keywords: ["private-lines:"],
    pattern: String.raw`Private-Lines:[ \t]{0,4}[0-9]{1,4}(?<secret>[A-Za-z0-9+/=\r\n]{16,})`,
    tail: String.raw`Private-Lines:[ \t]{0,4}[0-9]{1,4}(?<secret>[A-Za-z0-9+/=\r\n]*)$`
  },
  {
    id: "token-in-address",
    keywords: ["://"],
    pattern: String.raw`:\/\/(?<secret>[A-Za-z0-9_-]{20,256})@`,
    tail: String.raw`:\/\/(?<secret>[A-Za-z0-9_-]{0,256})$`,
    isSecret: hasDigitAndLetter
  },
  {
    id: "credentials-in-address",
    keywords: ["://"],
    pattern: String.raw`:\/\/[^\s\/:@'"\x60]{0,64}:(?<secret>[^\s\/@'"\x60]{3,256})@`,
    tail: String.raw`:\/\/[^\s\/:@'"\x60]{0,64}:(?<secret>[^\s\/@'"\x60]{0,256})$`
  },
  {
    id: "scheme-bearer",
    keywords: ["bearer"],
    pattern: String.raw`bearer[ \t]{1,4}(?<secret>[A-Za-z0-9._~+/-]{16,}={0,2})`,
    tail: String.raw`bearer[ \t]{0,4}(?<secret>[A-Za-z0-9._~+/=-]*)$`,
    ignoreCase: true,
    isSecret: hasDigit
  },
  {
    id: "scheme-basic",
    keywords: ["basic"],
    pattern: String.raw`basic[ \t]{1,4}(?<secret>[A-Za-z0-9+/]{12,}={0,2})`,
    tail: String.raw`basic[ \t]{1,4}(?<secret>[A-Za-z0-9+/=]*)$`,
    ignoreCase: true,
    isSecret: (secret) => secret.endsWith("=") || (hasDigit(secret) && /[a-z][A-Z]/.test(secret))
  },
  {
    id: "header-authorization",
    keywords: ["authorization", "x-api-key", "x-auth-token"],
    pattern: String.raw`(?:authorization|x-api-key|x-auth-token)["']?[ \t]{0,4}[:=][ \t]{0,4}["']?(?:[A-Za-z]{3,12}[ \t]{1,4})?(?<secret>[\w=~@.+/-]{8,512})`,
    tail: String.raw`(?:authorization|x-api-key|x-auth-token)["']?[ \t]{0,4}[:=][ \t]{0,4}["']?(?:[A-Za-z]{3,12}[ \t]{1,4})?(?<secret>[\w=~@.+/-]{0,512})$`,
    ignoreCase: true,
    isSecret: hasDigit
  },
  {
    id: "header-cookie",
    keywords: ["cookie:"],
    pattern: String.raw`cookie:[ \t]{1,4}(?<secret>[\w.-]{1,64}=[^\s"']{8,512})`,
    tail: String.raw`cookie:[ \t]{1,4}(?<secret>[^\s"']{0,577})$`,
    ignoreCase: true
  },
  {
    id: "user-of-curl",
    keywords: ["curl"],
    pattern: String.raw`curl\b[^\n]{0,300}?[ \t](?:-u|--user)[ =]{0,2}["']?[^\s:'"]{1,64}:(?<secret>[^\s'"$]{3,128})`,
    tail: String.raw`curl\b[^\n]{0,300}?[ \t](?:-u|--user)[ =]{0,2}["']?[^\s:'"]{1,64}:(?<secret>[^\s'"$]{0,128})$`
  },
  {
    id: "password-of-login",
    keywords: ["login"],
    pattern: String.raw`login\b[^\n;&|]{0,300}?[ \t]-p[ =]{0,2}["']?(?<secret>[^\s'"$-][^\s'"$]{2,127})`,
    tail: String.raw`login\b[^\n;&|]{0,300}?[ \t]-p[ =]{0,2}["']?(?<secret>[^\s'"$]{0,128})$`,
    isSecret: isNotDigits
  },
  {
    id: "password-of-mysql",
    keywords: ["mysql", "mariadb"],
    pattern: String.raw`(?:mysql|mariadb)(?:-?dump|-?admin)?\b[^\n;&|]{0,300}?[ \t]-p["']?(?<secret>[^\s'"$-][^\s'"$]{3,127})`,
    tail: String.raw`(?:mysql|mariadb)(?:-?dump|-?admin)?\b[^\n;&|]{0,300}?[ \t]-p["']?(?<secret>[^\s'"$]{0,128})$`
  },
  {
    id: "password-of-redis",
    keywords: ["redis-cli"],
    pattern: String.raw`redis-cli\b[^\n;&|]{0,300}?[ \t]-a[ \t]{1,4}["']?(?<secret>[^\s'"$-][^\s'"$]{3,127})`,
    tail: String.raw`redis-cli\b[^\n;&|]{0,300}?[ \t]-a[ \t]{1,4}["']?(?<secret>[^\s'"$]{0,128})$`
  },
  {
    id: "login-of-netrc",
    keywords: ["login"],
    pattern: String.raw`login[ \t]{1,4}\S{1,100}\s{1,8}password[ \t]{1,4}(?<secret>\S{3,200})`,
    tail: String.raw`login[ \t]{1,4}\S{1,100}\s{1,8}password[ \t]{1,4}(?<secret>\S{0,200})$`
  },
  {
    id: "password-of-sshpass",
    keywords: ["sshpass"],
    pattern: String.raw`sshpass[ \t]{1,4}-p[ \t]{0,4}["']?(?<secret>[^\s'"$]{3,128})`,
    tail: String.raw`sshpass[ \t]{1,4}-p[ \t]{0,4}["']?(?<secret>[^\s'"$]{0,128})$`
  },
  {
    id: "secret-beside-access-key",
    keywords: ["akia", "asia"],
    pattern: String.raw`(?:AKIA|ASIA)[A-Z0-9]{16}[^A-Za-z0-9\/+]{1,40}(?:[A-Za-z_]{1,30}[^A-Za-z0-9\/+]{1,6})?(?<secret>[A-Za-z0-9\/+]{40})(?![A-Za-z0-9\/+=])`,
    tail: String.raw`(?:AKIA|ASIA)[A-Z0-9]{16}[^A-Za-z0-9\/+]{1,40}(?:[A-Za-z_]{1,30}[^A-Za-z0-9\/+]{1,6})?(?<secret>[A-Za-z0-9\/+]{0,40})$`
  }
]

export const ownRules: ReadonlyArray<SecretRule> = [...forms, ...named]
