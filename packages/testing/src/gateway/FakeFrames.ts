/** The frames of Feishu's long connection, by hand: protobuf, as far as the connection uses it. */

export interface Frame {
  readonly service: number
  /** 0 control, 1 data. */
  readonly method: number
  readonly headers: Readonly<Record<string, string>>
  readonly payload: Buffer
}

const varint = (value: number): Buffer => {
  const bytes: Array<number> = []
  let rest = value
  while (rest > 127) {
    bytes.push((rest % 128) + 128)
    rest = Math.floor(rest / 128)
  }
  return Buffer.from([...bytes, rest])
}

const number = (field: number, value: number): Buffer => Buffer.concat([varint(field * 8), varint(value)])
const bytes = (field: number, value: Buffer): Buffer =>
  Buffer.concat([varint(field * 8 + 2), varint(value.length), value])

export const encodeFrame = ({ headers, method, payload, service }: Frame): Buffer =>
  Buffer.concat([
    number(1, 0),
    number(2, 0),
    number(3, service),
    number(4, method),
    ...Object.entries(headers).map(([key, value]) =>
      bytes(5, Buffer.concat([bytes(1, Buffer.from(key)), bytes(2, Buffer.from(value))]))
    ),
    bytes(8, payload)
  ])

/** The fields of a message: numbers, and bytes as they are. */
const fieldsOf = (buffer: Buffer): ReadonlyArray<readonly [field: number, value: number | Buffer]> => {
  const fields: Array<readonly [number, number | Buffer]> = []
  let at = 0
  const next = (): number => {
    let value = 0
    let factor = 1
    for (;;) {
      const byte = buffer.readUInt8(at++)
      value += (byte % 128) * factor
      if (byte < 128) return value
      factor *= 128
    }
  }
  while (at < buffer.length) {
    const key = next()
    if (key % 8 === 0) fields.push([key >> 3, next()])
    else if (key % 8 === 2) {
      const length = next()
      fields.push([key >> 3, buffer.subarray(at, at + length)])
      at += length
    } else throw new Error(`a frame with a field of wire type ${key % 8}`)
  }
  return fields
}

const textOf = (value: number | Buffer | undefined): string =>
  Buffer.isBuffer(value) ? value.toString() : ""

export const decodeFrame = (buffer: Buffer): Frame => {
  const fields = fieldsOf(buffer)
  const one = (field: number) => fields.find(([each]) => each === field)?.[1]
  const headers = fields.flatMap(([field, value]) => {
    if (field !== 5 || !Buffer.isBuffer(value)) return []
    const pair = new Map(fieldsOf(value))
    return [[textOf(pair.get(1)), textOf(pair.get(2))] as const]
  })
  const payload = one(8)
  return {
    service: Number(one(3)),
    method: Number(one(4)),
    headers: Object.fromEntries(headers),
    payload: Buffer.isBuffer(payload) ? payload : Buffer.alloc(0)
  }
}
