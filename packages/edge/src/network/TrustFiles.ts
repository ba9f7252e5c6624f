/**
 * Files with the certificate of a run's authority, and the variables by which programs find them. Some programs add the file to what they
 * trust, others trust nothing else: the second file has the authorities of the system, too.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { rootCertificates } from "node:tls"

/** Files of the authorities that a system trusts: Debian, Red Hat, SUSE, Alpine. */
const SYSTEM_FILES = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/ssl/ca-bundle.pem",
  "/etc/ssl/cert.pem"
]
const ADDED = "authority.pem"
const WHOLE = "authorities.pem"

const BEGIN = "-----BEGIN CERTIFICATE-----"
const END = "-----END CERTIFICATE-----"

/** The certificates of a text, and not a private key that is in the same file. */
const certificatesIn = (text: string): string => {
  const found: Array<string> = []
  for (let at = text.indexOf(BEGIN); at !== -1;) {
    const end = text.indexOf(END, at)
    if (end === -1) break
    found.push(text.slice(at, end + END.length))
    at = text.indexOf(BEGIN, end)
  }
  return found.join("\n")
}

const textOf = (path: string | undefined): string | undefined => {
  try {
    return path === undefined || path === "" ? undefined : certificatesIn(readFileSync(path, "utf8"))
  } catch {
    return undefined
  }
}

const trustedBySystem = (file: string | undefined): string => {
  for (const path of [file, ...SYSTEM_FILES]) {
    const text = textOf(path)
    if (text !== undefined && text !== "") return text
  }
  return rootCertificates.join("\n")
}

/** Writes the files. `environment`: the Edge's own, which may name files of authorities. Throws the system's error. */
export const writeTrustFiles = (
  folder: string,
  certificate: string,
  environment: Readonly<Record<string, string>>
): void => {
  const added = [certificate, textOf(environment["NODE_EXTRA_CA_CERTS"]) ?? ""].join("\n")
  writeFileSync(join(folder, ADDED), added, { mode: 0o400 })
  const whole = [added, trustedBySystem(environment["SSL_CERT_FILE"])].join("\n")
  writeFileSync(join(folder, WHOLE), whole, { mode: 0o400 })
}

/** Variables of the run. `folder`: where the run sees the files. Node and Bun read the first one, Codex the last one. */
export const trustVariables = (folder: string): Readonly<Record<string, string>> => {
  const [added, whole] = [join(folder, ADDED), join(folder, WHOLE)]
  return {
    NODE_EXTRA_CA_CERTS: added,
    SSL_CERT_FILE: whole,
    CURL_CA_BUNDLE: whole,
    REQUESTS_CA_BUNDLE: whole,
    CODEX_CA_CERTIFICATE: whole
  }
}
