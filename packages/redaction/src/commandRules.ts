/**
 * Rules for secrets in the arguments of commands: after an option, as the only argument, or before a pipe.
 *
 * Some keywords leave out the beginning of a command: three characters that are rare in text keep the search fast.
 *
 * Does not: find a secret that looks like a word, such as `vault login root`.
 */
import { hasDigit, hasDigitAndLetter, isNoWord, type SecretRule } from "./SecretRule.ts"

/** What follows the secret is another argument or the end. */
const argument = String.raw`["']?(?<secret>[^\s'"\x60$<>-][^\s'"\x60$<>]{2,256})`
const argumentTail = String.raw`["']?(?<secret>[^\s'"\x60$<>]{0,256})$`
const within = String.raw`[^\n;&|]{0,300}?[ \t]`

/** A program and the text before its secret. The keywords are where the program begins. */
const afterOption = (
  program: string,
  option: string,
  keywords: ReadonlyArray<string>,
  isSecret?: SecretRule["isSecret"]
): SecretRule => ({
  id: `option-of-${keywords[0]}`,
  keywords,
  pattern: program + within + option + argument,
  tail: program + within + option + argumentTail,
  ...(isSecret === undefined ? {} : { isSecret })
})

const optionNames = String.raw`(?:pass(?:word|wd|phrase)?|token|secret|api-?key|auth-?(?:token|key)|access-token|client-secret)`
const spaces = String.raw`[ =]{0,2}`

const options: ReadonlyArray<SecretRule> = [
  {
    id: "named-in-options",
    keywords: ["--pass", "--token", "--secret", "--api-key", "--apikey", "--auth"].concat([
      "--access-token",
      "--client-secret"
    ]),
    pattern: String.raw`--${optionNames}(?:=|[ \t]{1,4})["']?(?<secret>[^\s'"\x60$<>-][^\s'"\x60$<>]{3,256})`,
    tail: String.raw`--${optionNames}(?:=|[ \t]{1,4})["']?(?<secret>[^\s'"\x60$<>]{0,256})$`
  },
  {
    id: "named-in-longer-options",
    keywords: [
      "-passwd",
      "-password",
      "-passphrase",
      "-token",
      "-secret",
      "-api-key",
      "-apikey",
      "-auth"
    ].concat(["-storepass", "-keypass", "-srcstorepass", "-deststorepass", "-access-key", "-secret-key"]),
    pattern: String.raw`-(?:${optionNames}|(?:src|dest)?storepass|keypass|access-key|secret-key)[ \t]{1,4}${argument}`,
    tail: String.raw`-(?:${optionNames}|(?:src|dest)?storepass|keypass|access-key|secret-key)[ \t]{1,4}${argumentTail}`,
    isSecret: hasDigitAndLetter
  },
  {
    id: "pass-of-openssl",
    keywords: ["-pass"],
    pattern: String.raw`-pass(?:in|out)?[ \t]{1,4}["']?pass:(?<secret>[^\s'"$]{3,256})`,
    tail: String.raw`-pass(?:in|out)?[ \t]{1,4}["']?pass:(?<secret>[^\s'"$]{0,256})$`
  },
  afterOption("curl", String.raw`(?:-u|--user|-U|--proxy-user)${spaces}["']?[^\s:'"]{1,64}:`, ["curl"]),
  afterOption(String.raw`login\b`, `-p${spaces}`, ["login"], isNoWord),
  afterOption(String.raw`(?:mysql|mariadb)(?:-?dump|-?admin)?\b`, "-p", ["mysql", "mariadb"]),
  afterOption("redis-cli", "-a[ \\t]{1,4}", ["redis-cli"]),
  afterOption("sshpass", "-p[ \\t]{0,4}", ["sshpass"]),
  afterOption("ldap(?:search|add|modify|delete|whoami|compare|modrdn)", `-w${spaces}`, [
    "ldapsearch",
    "ldapadd",
    "ldapmodify",
    "ldapdelete",
    "ldapwhoami",
    "ldapcompare",
    "ldapmodrdn"
  ]),
  afterOption("ldappasswd", `-[asw]${spaces}`, ["ldappasswd"]),
  afterOption("qlcmd", `-P${spaces}`, ["qlcmd"]),
  afterOption("zip", `-P${spaces}`, ["zip -"]),
  afterOption("7z[arz]?", "-p", ["7z a", "7z x", "7za ", "7zr ", "7zz "]),
  afterOption(
    "ngo(?:sh|dump|restore|export|import)?",
    `-p${spaces}`,
    ["ngo -", "ngosh", "ngodump"].concat(["ngorestore", "ngoexport", "ngoimport"])
  ),
  afterOption("twine", `-p${spaces}`, ["twine"]),
  afterOption("octl", `-t${spaces}`, ["octl"]),
  afterOption("ssh-keygen", `-[NP]${spaces}`, ["ssh-keygen"]),
  afterOption("smbclient", String.raw`(?:-U|--user)${spaces}["']?[^\s%'"]{1,64}%`, ["smbclient"]),
  afterOption("https?", String.raw`(?:-a|--auth)${spaces}["']?[^\s:'"]{1,64}:`, ["http -", "https -"]),
  afterOption("net user?", String.raw`/user:[^\s]{1,100}[ \t]{1,4}`, ["net use"]),
  afterOption(
    "(?:mc|mcli) (?:alias set|config host add)",
    String.raw`\S{1,60}[ \t]https?:\/\/\S{1,200}[ \t]\S{1,128}[ \t]{1,4}`,
    ["mc alias set", "mc config host add"]
  )
]

/** Commands whose argument is the secret. */
const onlyArgument = (command: string): SecretRule => ({
  id: `argument-of-${command}`,
  keywords: [command],
  pattern: String.raw`${command}(?:[ \t]{1,4}-[^\s]{1,200}){0,6}[ \t]{1,4}["']?(?<secret>[^\s'"\x60$<>=-][^\s'"\x60$<>=]{7,2048})`,
  tail: String.raw`${command}(?:[ \t]{1,4}-[^\s]{1,200}){0,6}[ \t]{1,4}["']?(?<secret>[^\s'"\x60$<>=]{0,2048})$`,
  isSecret: hasDigitAndLetter
})

const placed: ReadonlyArray<SecretRule> = [
  ...["vault login", "vault operator unseal", "vault token revoke", "cargo login", "snyk auth"].map(
    onlyArgument
  ),
  ...["ngrok authtoken", "dd-authtoken", "pypi-token.pypi", "doppler configure set token"].map(onlyArgument),
  {
    id: "user-of-poetry",
    keywords: ["http-basic."],
    pattern: String.raw`http-basic\.\S{1,100}[ \t]{1,4}\S{1,100}[ \t]{1,4}${argument}`,
    tail: String.raw`http-basic\.\S{1,100}[ \t]{1,4}\S{1,100}[ \t]{1,4}${argumentTail}`
  },
  {
    id: "named-in-configuration",
    keywords: ["onfig set", "onfigure set", "onfig add"],
    pattern: String.raw`onfig(?:ure)?[ \t](?:set|add)[ \t]{1,4}[^\s=]{0,200}(?:token|secret|password|passwd|_auth|_access_key|api_?key)[ \t]{1,4}${argument}`,
    tail: String.raw`onfig(?:ure)?[ \t](?:set|add)[ \t]{1,4}[^\s=]{0,200}(?:token|secret|password|passwd|_auth|_access_key|api_?key)[ \t]{1,4}${argumentTail}`,
    ignoreCase: true,
    isSecret: hasDigit
  },
  {
    id: "text-of-secure-string",
    keywords: ["-securestring"],
    pattern: String.raw`-SecureString[ \t]{1,4}(?:-String[ \t]{1,4})?["'](?<secret>[^"'$\n]{3,256})["']`,
    tail: String.raw`-SecureString[ \t]{1,4}(?:-String[ \t]{1,4})?["'](?<secret>[^"'$\n]{0,256})$`,
    ignoreCase: true
  },
  {
    id: "text-for-stdin",
    keywords: [
      "password-stdin",
      "--with-token",
      "chpasswd",
      "passwd --stdin",
      "passphrase-fd 0",
      "secret set"
    ],
    near: true,
    pattern: String.raw`(?:echo|printf)[ \t]{1,4}(?:-[ne]{1,2}[ \t]{1,4}|%s[ \t]{1,4}|["']%s(?:\\n)?["'][ \t]{1,4})?["']?(?<secret>[^\s'"\x60|$<>-][^\s'"\x60|$<>]{3,256})["']?[ \t]{0,4}\|[^\n|]{1,200}(?:password-stdin|--with-token|chpasswd|passwd --stdin|passphrase-fd 0|secret set)`
  }
]

/** Secrets in the arguments of commands. */
export const commandRules: ReadonlyArray<SecretRule> = [...options, ...placed]
