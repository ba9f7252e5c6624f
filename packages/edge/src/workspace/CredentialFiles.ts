/**
 * Files of a workspace that are never served: those of version control, and files that exist to hold credentials.
 *
 * Guarantees: the rule applies to the real path, regardless of case and links. It reads names, and detects a git directory by its entries.
 *
 * Does not: read the content of files, or redact the output of agents.
 */
import { capped } from "@corral/domain/text/CappedPattern"
import { existsSync } from "node:fs"
import { join, sep } from "node:path"

const listed = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/))

/** Folders whose files are never served: of version control, and of programs that store their sign-in there. */
const folders = listed(`
  .age .aws .azure .bzr .corral .docker .fly .git .gnupg .hg .jj .kube .oci .password-store .pulumi .snowsql .ssh .svn .terraform.d
  .twilio-cli`)

/** The same for files and folders whose names have this meaning in one folder only. */
const paths = listed(`
  .bundle/config .circleci/cli.yml .config/doctl .config/gcloud .config/gh .config/github-copilot .config/glab-cli .config/hub
  .config/rclone .dbt/profiles.yml .gradle/gradle.properties .m2/settings-security.xml .m2/settings.xml .travis/config.yml`)

const names = listed(`
  .boto .credentials.json .curlrc .databrickscfg .dev.vars .dockercfg .flaskenv .ftpconfig .git-credentials .hgrc .htpasswd .my.cnf
  .mylogin.cnf .netrc .npmrc .pg_service.conf .pgpass .pypirc .s3cfg .sentryclirc .terraformrc .vault-token .wgetrc .yarnrc .yarnrc.yml
  _netrc application_default_credentials.json auth.json edge.token id_dsa id_ecdsa id_ecdsa_sk id_ed25519 id_ed25519_sk id_rsa kubeconfig
  oauth_creds.json pip.conf pip.ini rclone.conf sftp-config.json terraform.rc wallet.dat`)

/** Maximum length of a name on common file systems. */
const LONGEST_NAME = 255
/** `.env` and its variants, except published templates, which hold no secret. */
const environment = capped(
  LONGEST_NAME,
  /^\.env(?:\.(?!(?:example|sample|template|dist|defaults)$).+)?$|^\.envrc$|^(?!(?:example|sample|template|dist|defaults)\.).+\.env$/
)
const secrets =
  /^\.?(?:secrets?|credentials?|client_secrets?|service[-_]account|vault_pass(?:word)?)(?:\.(?:db|ini|json|toml|txt|ya?ml))?$/
const types =
  /\.(?:asc|jks|kdbx|key|keystore|kubeconfig|p12|pem|pfx|ppk|tfstate|tfvars)$|^\.(?:\w{2,20}_)?history$/
/** Endings of copies that editors and people make. */
const copyEnding = /(?:~|\.(?:backup|bak|old|orig|save))$/

/** Entries of a git directory: a bare repository, one of `--separate-git-dir`, or the folder of a worktree or submodule. */
const isGitDirectory = (path: string): boolean =>
  existsSync(join(path, "HEAD")) &&
  (existsSync(join(path, "commondir")) ||
    (existsSync(join(path, "objects")) && existsSync(join(path, "refs"))))

/** Whether a real path, relative to the real root, is such a file. */
export const holdsCredentials = (root: string, relativePath: string, isFile: boolean): boolean => {
  const segments = relativePath.split(sep).filter((segment) => segment !== "")
  // Some Unicode letters have an ASCII lower case, and some file systems treat them as the same letter.
  const folded = segments.map((segment) => segment.normalize("NFKC").toLowerCase())
  const name = (folded.pop() ?? "").replace(copyEnding, "")
  folded.push(name)
  if (folded.some((segment, i) => folders.has(segment) || paths.has(`${folded[i - 1]}/${segment}`)))
    return true
  if (isFile && (names.has(name) || [environment, secrets, types].some((pattern) => pattern.test(name))))
    return true
  const parents = segments.map((_, i) => join(root, ...segments.slice(0, i + 1)))
  return [root, ...parents].some(isGitDirectory)
}
