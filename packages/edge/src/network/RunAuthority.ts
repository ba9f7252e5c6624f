/**
 * Certificate authority of one run, in memory: its certificate, and those that it signs for the services of the run's keys.
 *
 * asn1js encodes the certificates (RFC 5280), and is loaded for the first one. Node signs them. The authority's key is released with the last
 * certificate, so nothing else can be signed.
 */
import type { AsnType } from "asn1js"
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto"
import { isIP } from "node:net"

export interface SignedCertificate {
  /** PEM. */
  readonly cert: string
  readonly key: string
}

export interface RunAuthority {
  /** PEM. */
  readonly certificate: string
  /** For each list of hosts, in the same order. */
  readonly signed: ReadonlyArray<SignedCertificate>
}

const HOUR = 3_600_000
/** Longer than any run. */
const VALID_FOR = 26 * HOUR

const ids = {
  ecdsaWithSha256: "1.2.840.10045.4.3.2",
  commonName: "2.5.4.3",
  subjectKeyIdentifier: "2.5.29.14",
  keyUsage: "2.5.29.15",
  subjectAltName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  authorityKeyIdentifier: "2.5.29.35",
  extendedKeyUsage: "2.5.29.37",
  serverAuth: "1.3.6.1.5.5.7.3.1"
}
const CONTEXT_CLASS = 3

interface CertificateFacts {
  readonly subject: string
  readonly issuer: string
  /** Hosts that it is for; `undefined` for that of the authority. */
  readonly hosts: ReadonlyArray<string> | undefined
  readonly publicKey: KeyObject
  readonly issuerKey: KeyObject
  /** Public key of the issuer. */
  readonly issuerPublicKey: KeyObject
}

const bytesOfAddress = (host: string): Uint8Array<ArrayBuffer> => {
  if (isIP(host) === 4) return Uint8Array.from(host.split("."), Number)
  const [before = "", after] = host.split("::")
  const groups = (text = "") => text.split(":").filter((group) => group !== "")
  const [left, right] = [groups(before), groups(after)]
  const all = [...left, ...Array<string>(8 - left.length - right.length).fill("0"), ...right]
  return Uint8Array.from(
    all.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255])
  )
}

/** `now`: Unix milliseconds. */
const makeEncoder = async (now: number) => {
  // The default is the module itself, from the sources and from the build.
  const { default: asn1 } = await import("asn1js")
  const sequence = (...value: Array<AsnType>) => new asn1.Sequence({ value })
  const octets = (bytes: ArrayBuffer) => new asn1.OctetString({ valueHex: bytes })
  const tagged = (tagNumber: number, valueHex: Uint8Array<ArrayBuffer>) =>
    new asn1.Primitive({
      idBlock: { tagClass: CONTEXT_CLASS, tagNumber },
      valueHex: Uint8Array.from(valueHex).buffer
    })
  const id = (value: string) => new asn1.ObjectIdentifier({ value })
  const read = (der: Uint8Array<ArrayBuffer>): AsnType => asn1.fromBER(Uint8Array.from(der).buffer).result
  const algorithm = () => sequence(id(ids.ecdsaWithSha256))
  const name = (value: string) =>
    sequence(new asn1.Set({ value: [sequence(id(ids.commonName), new asn1.Utf8String({ value }))] }))
  const time = (at: number) => new asn1.UTCTime({ valueDate: new Date(at) })
  const extension = (of: string, isCritical: boolean, value: AsnType) =>
    sequence(id(of), ...(isCritical ? [new asn1.Boolean({ value: true })] : []), octets(value.toBER()))
  const bits = (byte: number, unusedBits: number) =>
    new asn1.BitString({ unusedBits, valueHex: Uint8Array.of(byte).buffer })
  const altNames = (hosts: ReadonlyArray<string>) =>
    sequence(
      ...hosts.map((host) =>
        isIP(host) === 0 ? tagged(2, Uint8Array.from(Buffer.from(host))) : tagged(7, bytesOfAddress(host))
      )
    )

  const extensions = ({ hosts, issuerPublicKey, publicKey }: CertificateFacts): Array<AsnType> => [
    extension(
      ids.basicConstraints,
      true,
      sequence(...(hosts === undefined ? [new asn1.Boolean({ value: true })] : []))
    ),
    // `keyCertSign`, or `digitalSignature`.
    extension(ids.keyUsage, true, hosts === undefined ? bits(0b0000_0100, 2) : bits(0b1000_0000, 7)),
    extension(ids.subjectKeyIdentifier, false, octets(Uint8Array.from(fingerprint(publicKey)).buffer)),
    extension(ids.authorityKeyIdentifier, false, sequence(tagged(0, fingerprint(issuerPublicKey)))),
    ...(hosts === undefined
      ? []
      : [
          extension(ids.extendedKeyUsage, false, sequence(id(ids.serverAuth))),
          extension(ids.subjectAltName, false, altNames(hosts))
        ])
  ]

  return (facts: CertificateFacts): string => {
    // A serial number is positive, and begins with no zero.
    const serial = Uint8Array.of(0x40, ...randomBytes(15))
    const body = sequence(
      new asn1.Constructed({
        idBlock: { tagClass: CONTEXT_CLASS, tagNumber: 0 },
        value: [new asn1.Integer({ value: 2 })]
      }),
      new asn1.Integer({ valueHex: serial.buffer }),
      algorithm(),
      name(facts.issuer),
      sequence(time(now - HOUR), time(now + VALID_FOR)),
      name(facts.subject),
      read(spkiOf(facts.publicKey)),
      new asn1.Constructed({
        idBlock: { tagClass: CONTEXT_CLASS, tagNumber: 3 },
        value: [sequence(...extensions(facts))]
      })
    )
    const signature = sign("sha256", Buffer.from(body.toBER()), facts.issuerKey)
    const whole = sequence(
      body,
      algorithm(),
      new asn1.BitString({ valueHex: Uint8Array.from(signature).buffer })
    )
    const text = Buffer.from(whole.toBER()).toString("base64").replaceAll(/.{64}/g, "$&\n").trimEnd()
    return `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`
  }
}

const spkiOf = (key: KeyObject): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(key.export({ type: "spki", format: "der" }))

const fingerprint = (key: KeyObject): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(createHash("sha256").update(spkiOf(key)).digest().subarray(0, 20))

const newKeys = () => generateKeyPairSync("ec", { namedCurve: "prime256v1" })

/** A new authority, and a certificate of it for each list of hosts. `now`: Unix milliseconds. */
export const makeRunAuthority = async (
  hosts: ReadonlyArray<ReadonlyArray<string>>,
  now: number
): Promise<RunAuthority> => {
  const encode = await makeEncoder(now)
  const issuer = `Corral run ${randomBytes(8).toString("hex")}`
  const { privateKey: issuerKey, publicKey: issuerPublicKey } = newKeys()
  const facts = { issuer, issuerKey, issuerPublicKey }
  return {
    certificate: encode({ ...facts, subject: issuer, hosts: undefined, publicKey: issuerPublicKey }),
    signed: hosts.map((names) => {
      const { privateKey, publicKey } = newKeys()
      return {
        cert: encode({ ...facts, subject: "Corral proxy", hosts: names, publicKey }),
        key: String(privateKey.export({ type: "pkcs8", format: "pem" }))
      }
    })
  }
}
